// simba run, elect and schedule: two of them on each store.
#include <csignal>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/cli/stores.hpp"
#include "support/safety.hpp"

namespace {

using namespace simba::support;

class CliContend : public testing::TestWithParam<CliStore> {
 protected:
  using Words = std::vector<std::string>;

  Words line(const std::string& command, const std::string& mutex, const Words& more) const {
    Words words{command, "-b", GetParam().url(folder_.path(), {}), "-m", mutex};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// The number that each line has after `name` and a space.
  static std::vector<unsigned long long> numbers(const std::string& text, const std::string& name) {
    std::vector<unsigned long long> found;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) found.push_back(std::stoull(line.substr(name.size() + 1)));
    }
    return found;
  }

  static bool has_said(const CliProgram& program, const std::string& name, std::size_t times) {
    return eventually([&] { return numbers(program.out(), name).size() >= times; });
  }

 private:
  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, CliContend, testing::ValuesIn(cli_stores()),
                         [](const auto& store) { return cli_store_name(store.param); });

TEST_P(CliContend, RunHoldsTheMutexAsLongAsItsCommandRuns) {
  const auto mutex = own_mutex("run");
  CliProgram first{
      line("run", mutex, {"--", "sh", "-c", "echo token $SIMBA_FENCING_TOKEN; exec sleep 600"})};
  ASSERT_TRUE(has_said(first, "token", 1)) << first.err();
  const auto refused = run_cli(line("run", mutex, {"--timeout", "0", "--", "echo", "ran"}));
  EXPECT_EQ(refused.code, 75) << refused.err;
  EXPECT_EQ(refused.out, "") << safety_violation << "two commands run";
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 128 + SIGTERM) << first.err();
  const auto next =
      run_cli(line("run", mutex, {"--", "sh", "-c", "echo token $SIMBA_FENCING_TOKEN"}));
  EXPECT_EQ(next.code, 0) << next.err;
  const auto before = numbers(first.out(), "token");
  const auto after = numbers(next.out, "token");
  ASSERT_EQ(after.size(), 1U) << next.out;
  EXPECT_GT(after[0], before.at(0)) << safety_violation << "the token does not grow";
}

TEST_P(CliContend, ElectHandsTheLeadOver) {
  const auto mutex = own_mutex("elect");
  CliProgram first{line("elect", mutex, {"--id", "first"})};
  ASSERT_TRUE(first.says("leading: mutex")) << first.err();
  CliProgram second{line("elect", mutex, {"--id", "second"})};
  ASSERT_TRUE(second.says("is owned by first")) << second.err();
  EXPECT_FALSE(contains(second.out(), "leading")) << safety_violation << "two lead";
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_TRUE(second.says("leading: mutex")) << second.err();
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0) << second.err();
}

TEST_P(CliContend, ScheduleRunsOnTheLeaderAloneAndThenOnTheNext) {
  const auto mutex = own_mutex("schedule");
  const auto schedule = [&](const std::string& id) {
    return line("schedule", mutex,
                {"--id", id, "--every", "10ms", "--json", "--", "sh", "-c",
                 "echo token $SIMBA_FENCING_TOKEN"});
  };
  CliProgram first{schedule("first")};
  ASSERT_TRUE(has_said(first, "token", 2)) << first.err();
  CliProgram second{schedule("second")};
  ASSERT_TRUE(second.notes("following")) << second.err();
  EXPECT_EQ(numbers(second.out(), "token").size(), 0U) << safety_violation << "both run it";
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  ASSERT_TRUE(has_said(second, "token", 1)) << second.err();
  EXPECT_GT(numbers(second.out(), "token").front(), numbers(first.out(), "token").back())
      << safety_violation << "the token does not grow";
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0) << second.err();
}

}  // namespace
