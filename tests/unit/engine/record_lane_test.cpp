#include "engine/record_lane.hpp"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::engine {
namespace {

constexpr std::size_t most_under_way = 32;

class RecordLaneTest : public ::testing::Test {
 protected:
  /// A request that is answered when the test says so.
  void send_held() {
    lane_->send([this](RecordHandler answered) { held_.push_back(std::move(answered)); },
                [this](const RecordResult& result) {
                  ++(std::holds_alternative<Error>(result) ? errors_ : answers_);
                });
  }

  void release(std::size_t count) {
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<RecordHandler> released{held_.begin(), end};
    held_.erase(held_.begin(), end);
    for (const auto& answered : released) answered(RecordAnswer{});
  }

  std::shared_ptr<RecordLane> lane_ = std::make_shared<RecordLane>(most_under_way);
  std::vector<RecordHandler> held_;
  int answers_ = 0;
  int errors_ = 0;
};

TEST_F(RecordLaneTest, HasOnlySoManyRequestsUnderWay) {
  for (int i = 0; i < 100; ++i) send_held();
  EXPECT_EQ(held_.size(), most_under_way);
  release(10);
  EXPECT_EQ(answers_, 10);
  EXPECT_EQ(held_.size(), most_under_way);
  while (!held_.empty()) release(1);
  EXPECT_EQ(answers_, 100);
}

TEST_F(RecordLaneTest, AnswersInsideRequestsDoNotNest) {
  constexpr int many = 200'000;  // nested, they would need more stack than there is
  for (std::size_t i = 0; i < most_under_way; ++i) send_held();
  int inside = 0;
  for (int i = 0; i < many; ++i) {
    lane_->send([](const RecordHandler& answered) { answered(RecordAnswer{}); },
                [&inside](const RecordResult&) { ++inside; });
  }
  EXPECT_EQ(inside, 0);
  release(1);
  EXPECT_EQ(inside, many);
}

TEST_F(RecordLaneTest, AnswersWhatWaitsWhenItIsClosed) {
  for (int i = 0; i < 100; ++i) send_held();
  lane_->close();
  EXPECT_EQ(errors_, 100 - static_cast<int>(most_under_way));
  send_held();
  EXPECT_EQ(errors_, 101 - static_cast<int>(most_under_way));
  while (!held_.empty()) release(1);
  EXPECT_EQ(answers_ + errors_, 101);
}

TEST_F(RecordLaneTest, OutlivesAnAnswerInsideTheRequestThatDropsItsLastHolder) {
  auto lane = std::make_shared<RecordLane>(most_under_way);
  RecordLane& lane_itself = *lane;
  const std::weak_ptr<RecordLane> weak = lane;
  lane_itself.send([](const RecordHandler& answered) { answered(RecordAnswer{}); },
                   [&](const RecordResult&) { lane.reset(); });
  EXPECT_TRUE(weak.expired());
}

TEST_F(RecordLaneTest, AnswersARequestThatThrowsAndGoesOn) {
  for (std::size_t i = 0; i <= most_under_way; ++i) {
    ErrorKind kind{};
    lane_->send([](const RecordHandler&) { throw std::runtime_error{"no memory"}; },
                [&](const RecordResult& result) { kind = std::get<Error>(result).kind(); });
    EXPECT_EQ(kind, ErrorKind::in_doubt);
  }
  lane_->send([](const RecordHandler& answered) { answered(RecordAnswer{}); },
              [this](const RecordResult&) { ++answers_; });
  EXPECT_EQ(answers_, 1);
}

}  // namespace
}  // namespace simba::engine
