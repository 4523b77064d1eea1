// simba run --slot, runs and schedule with slots on every real store.
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/stores.hpp"
#include "support/safety.hpp"

namespace {

using namespace simba::support;
using testing::HasSubstr;

class CliSlotOn : public testing::TestWithParam<CliStore> {
 protected:
  void SetUp() override { ASSERT_EQ(simba({"init"}).code, 0); }

  std::vector<std::string> line(std::vector<std::string> words,
                                const std::vector<std::string>& command = {}) const {
    words.insert(words.end(), {"-b", GetParam().url(folder_.path(), {})});
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  CliEnd simba(const std::vector<std::string>& words,
               const std::vector<std::string>& command = {}) const {
    return run_cli(line(words, command));
  }

  std::vector<nlohmann::json> runs(const std::string& mutex) const {
    const auto end = simba({"runs", "-m", mutex, "--json"});
    EXPECT_EQ(end.code, 0) << end.err;
    std::vector<nlohmann::json> objects;
    std::istringstream lines{end.out};
    for (std::string text; std::getline(lines, text);) {
      objects.push_back(nlohmann::json::parse(text));
    }
    return objects;
  }

  bool has_ended(const std::string& mutex, int number) const {
    const auto last = runs(mutex).back();
    return last.at("number") == number && !last.at("ended").is_null();
  }

 private:
  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, CliSlotOn, testing::ValuesIn(cli_stores()),
                         [](const auto& store) { return cli_store_name(store.param); });

TEST_P(CliSlotOn, AKeyRunsOnceAndTheHistoryShowsIt) {
  const auto mutex = own_mutex("slot");
  const std::vector<std::string> once{"run", "-m", mutex, "--slot", "a", "--id"};
  auto first = once;
  first.emplace_back("ann");
  auto second = once;
  second.emplace_back("bob");
  const std::vector<std::string> command{"--", "sh", "-c", "echo $SIMBA_SLOT $SIMBA_ATTEMPT"};
  const auto done = simba(first, command);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "a 1\n");
  const auto again = simba(second, command);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "") << safety_violation << "a key was begun twice";
  EXPECT_THAT(again.err, HasSubstr("was run by ann at "));
  const auto history = runs(mutex);
  ASSERT_EQ(history.size(), 1U);
  EXPECT_EQ(history[0].at("outcome"), "succeeded");
  EXPECT_EQ(history[0].at("contender_id"), "ann");
}

TEST_P(CliSlotOn, ASlotOfAScheduleRunsOnceWhoeverLeads) {
  const auto mutex = own_mutex("schedule");
  const std::vector<std::string> hourly{"schedule", "-m", mutex, "--every", "1h"};
  const std::vector<std::string> command{"--", "sh", "-c", "echo run $SIMBA_RUN_NUMBER"};
  CliProgram first{line(hourly, command)};
  ASSERT_TRUE(first.says("run 1\n")) << first.err();
  ASSERT_TRUE(eventually([&] { return has_ended(mutex, 1); }));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  CliProgram second{line(hourly, command)};
  EXPECT_EQ(simba({"schedule", "trigger", "-m", mutex}).code, 0);
  ASSERT_TRUE(second.says("run 2\n")) << second.err();
  ASSERT_TRUE(eventually([&] { return has_ended(mutex, 2); }));
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(second.out(), "run 2\n") << "only what was triggered";
  const auto history = runs(mutex);
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[0].at("event"), "schedule");
  EXPECT_EQ(history[2].at("outcome"), "succeeded");
}

}  // namespace
