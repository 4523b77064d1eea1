#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/memory/memory_store.hpp"
#include "simba/testkit/manual_clock.hpp"

namespace simba::memory {

inline constexpr std::chrono::milliseconds ttl{100};
inline constexpr std::chrono::milliseconds transition{50};
inline constexpr std::chrono::milliseconds lease = ttl + transition;

/// What a watch has told, in short: "granted a 1", "changed b 2", "changed" for nobody.
using Story = std::vector<std::string>;

inline std::string in_short(const engine::Notice& notice) {
  std::string text = notice.kind == engine::Notice::Kind::granted ? "granted" : "changed";
  if (notice.record && !notice.record->owner_id.empty()) {
    text += " " + notice.record->owner_id + " " + std::to_string(notice.record->fencing_token);
  }
  return text;
}

class MemoryStoreTest : public testing::Test {
 protected:
  static engine::LeaseRequest request_of(const std::string& contender,
                                         const std::string& mutex = "m") {
    return {mutex, contender, ttl, transition};
  }

  engine::LeaseRecord acquire(const std::string& contender, const std::string& mutex = "m") {
    return answer([&](auto handler) { store_->acquire(request_of(contender, mutex), handler); });
  }

  engine::LeaseRecord guard(const std::string& contender, const std::string& mutex = "m") {
    return answer([&](auto handler) { store_->guard(request_of(contender, mutex), handler); });
  }

  engine::LeaseRecord release(const std::string& contender, FencingToken token,
                              const std::string& mutex = "m") {
    return answer(
        [&](auto handler) { store_->release(request_of(contender, mutex), token, handler); });
  }

  engine::LeaseRecord retrieve(const std::string& mutex = "m") {
    return answer([&](auto handler) { store_->retrieve(request_of("", mutex), handler); });
  }

  std::unique_ptr<engine::Watch> watch(const std::string& contender, Story& story) {
    return store_->watch(request_of(contender),
                         [&story](const engine::Notice& n) { story.push_back(in_short(n)); });
  }

  template <typename Ask>
  static engine::LeaseRecord answer(const Ask& ask) {
    std::vector<engine::LeaseAnswer> answers;
    ask([&](engine::LeaseAnswer a) { answers.push_back(std::move(a)); });
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_NE(answers.at(0).record(), nullptr);
    return *answers.at(0).record();
  }

  std::shared_ptr<testkit::ManualClock> clock_ = std::make_shared<testkit::ManualClock>();
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>(clock_);
};

}  // namespace simba::memory
