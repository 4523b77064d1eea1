#include "chaos/checking/fenced_log.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace simba::chaos {
namespace {

class ChaosFencedLog : public ::testing::Test {
 protected:
  FencedState final_state() const {
    FencedState state;
    for (const auto& entry : read_fenced_log(file_)) {
      state.apply(entry);
    }
    return state;
  }

  support::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "resource";
};

TEST_F(ChaosFencedLog, CountsWhatOneWritesAfterTheOther) {
  FencedLog one{file_};
  FencedLog two{file_};
  one.write(1, one.read(1).value() + 1);
  two.write(2, two.read(2).value() + 1);
  EXPECT_EQ(two.read(2), 2U);
  EXPECT_EQ(final_state().value(), 2U);
  EXPECT_EQ(final_state().lost(), 0U);
}

TEST_F(ChaosFencedLog, RefusesAWriteWhoseTokenIsOvertakenSinceItsRead) {
  FencedLog paused{file_};
  FencedLog next{file_};
  const auto seen = paused.read(1).value();
  const auto fresh = next.read(2).value();
  paused.write(1, seen + 1);
  next.write(2, fresh + 1);
  EXPECT_EQ(paused.read(1), std::nullopt);
  EXPECT_EQ(next.read(2), 1U);
  EXPECT_EQ(final_state().refused(), 1U);
  EXPECT_EQ(final_state().lost(), 0U);
}

TEST_F(ChaosFencedLog, ShowsWhereTwoHaveTheSameToken) {
  FencedLog one{file_};
  FencedLog two{file_};
  const auto seen = one.read(1).value();
  two.write(1, two.read(1).value() + 1);
  one.write(1, seen + 1);
  EXPECT_EQ(final_state().lost(), 1U);
}

TEST_F(ChaosFencedLog, LosesNoEntryOfThreadsThatAppendAtOnce) {
  constexpr int each = 500;
  std::vector<std::jthread> threads;
  for (std::uint64_t token = 1; token <= 4; ++token) {
    threads.emplace_back([&, token] {
      FencedLog own{file_};
      for (int i = 0; i < each; ++i) {
        own.write(token, 0);
      }
    });
  }
  threads.clear();
  std::vector<int> counts(5);
  for (const auto& entry : read_fenced_log(file_)) {
    ++counts.at(entry.token);
  }
  EXPECT_EQ(counts, (std::vector<int>{0, each, each, each, each}));
}

}  // namespace
}  // namespace simba::chaos
