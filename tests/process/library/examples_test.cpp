#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/processes/talking_process.hpp"
#include "support/temporary_folder.hpp"

namespace {

using simba::support::TalkingProcess;
using simba::support::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string path_of(const std::string& example) {
  return std::string{SIMBA_TEST_EXAMPLES} + "/simba-example-" + example;
}

/// The examples, each on a new SQLite database.
class Examples : public testing::Test {
 protected:
  /// Runs it to its end. Returns the lines that it has printed.
  std::vector<std::string> run(const std::string& name, const std::string& parameters = {}) {
    const auto database = folder_.path() / "simba.db";
    TalkingProcess process{{path_of(name), "sqlite:" + database.string() + parameters}};
    const int code = process.quit();
    EXPECT_EQ(code, 0) << process.transcript();
    return process.lines();
  }

  TemporaryFolder folder_;
};

std::size_t index_of(const std::vector<std::string>& lines, std::string_view part,
                     std::size_t first = 0) {
  const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(std::min(first, lines.size()));
  const auto found = std::find_if(begin, lines.end(), [&](const std::string& line) {
    return line.find(part) != std::string::npos;
  });
  EXPECT_NE(found, lines.end()) << "no line with: " << part << "\n"
                                << testing::PrintToString(lines);
  return static_cast<std::size_t>(std::distance(lines.begin(), found));
}

TEST_F(Examples, LockKeepsAnotherOneOutUntilItIsGivenBack) {
  for (const auto* name : {"lock", "classic-lock"}) {
    EXPECT_THAT(run(name),
                ElementsAre("waiting for the lock", StartsWith("got it, with fencing "),
                            "working, step 1 of 3", "working, step 2 of 3", "working, step 3 of 3",
                            "another one gave up waiting", "given back; now the other one has it"));
  }
}

TEST_F(Examples, LeaderHandsOverToTheOtherCandidate) {
  const auto leads = [](std::string_view id) {
    return AllOf(StartsWith(std::string{id}), HasSubstr(" leads, with fencing token "));
  };
  const auto follows = [](std::string_view id) {
    return AllOf(StartsWith(std::string{id}), EndsWith(" leads no longer"));
  };
  for (const auto* name : {"leader", "classic-leader"}) {
    EXPECT_THAT(run(name), ElementsAre(leads("0:"), follows("0:"), leads("1:"), follows("1:")));
  }
}

TEST_F(Examples, ScheduledWorkIsDoneByOneInstanceAndThenByTheOther) {
  for (const auto* name : {"scheduled-work", "classic-scheduled-work"}) {
    const auto lines = run(name);
    const std::string first = "the first instance does the work";
    const std::string second = "the second instance does the work";
    EXPECT_GE(std::count(lines.begin(), lines.end(), first), 3);
    EXPECT_GE(std::count(lines.begin(), lines.end(), second), 3);
    EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()))  // "first" comes before "second"
        << testing::PrintToString(lines);
  }
}

TEST_F(Examples, ObserverFindsTheLeaderByItsEndpoint) {
  const auto lines = run("observer");
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines[index_of(lines, "leader at 10.0.0.7:8080")], HasSubstr(", fencing token "));
  EXPECT_EQ(lines.back(), "no leader that can be reached");
}

TEST_F(Examples, AServerLocksPerRequestOnOneThread) {
  EXPECT_THAT(run("asio-server"), testing::UnorderedElementsAre(
                                      "order 1 settled", "order 1 settled", "order 2 settled"));
}

TEST_F(Examples, APoolOfCoroutinesTakesTurns) {
  EXPECT_THAT(run("worker-pool"), ElementsAre("100 jobs on 10 accounts, one at a time on each"));
}

TEST_F(Examples, TracingPrintsTheSpansOfALockWithinThatOfTheRequest) {
  const auto lines = run("tracing");
  EXPECT_THAT(lines,
              testing::UnorderedElementsAre(
                  AllOf(StartsWith("trace 1, span 2, parent 0: request, ")),
                  AllOf(StartsWith("trace 1, span 3, parent 2: acquire, "),
                        HasSubstr(", mutex example-tracing, token "), EndsWith(", done")),
                  AllOf(StartsWith("trace 1, span 4, parent 2: hold, "), EndsWith(", done")),
                  AllOf(StartsWith("trace 1, span 5, parent 2: release, "), EndsWith(", done"))));
}

TEST_F(Examples, TheClassicObserverSeesTheOwnerComeAndGo) {
  const auto lines = run("classic-observer");
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines[index_of(lines, "owner: 0:")], HasSubstr(", fencing token "));
  EXPECT_EQ(lines.back(), "no owner");
}

TEST_F(Examples, FencedResourceRefusesTheWriteOfAWorkerThatWasFrozen) {
  const auto lines =
      run("fenced-resource", "?ttl=1s&transition=500ms&jitter-low=0ms&jitter-high=100ms");
  const auto frozen = index_of(lines, "begins to write, and is frozen");
  const auto taken_over = index_of(lines, " has the lock, with token ", frozen);
  const auto stored = index_of(lines, "The storage takes ", taken_over);
  const auto woken = index_of(lines, " wakes up and continues", stored);
  const auto refused = index_of(lines, "The storage refuses ", woken);
  ASSERT_LT(refused, lines.size());
  // It was the frozen one, of whom the line begins with the name.
  const std::string name = lines[frozen].substr(0, lines[frozen].find(' '));
  EXPECT_THAT(lines[refused], StartsWith("The storage refuses " + name + "'s record "));
  EXPECT_THAT(lines[taken_over], testing::Not(StartsWith(name)));
  // Once it has the lock anew its write is taken.
  index_of(lines, "The storage takes " + name + "'s record ", refused);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.starts_with("  stored: "); }),
            6);
  EXPECT_EQ(lines.back(), "Nobody has written after a newer owner.");
}

TEST_F(Examples, UseADatabaseInTheTemporaryFolderWhenTheyAreGivenNoStore) {
  for (const auto* name : {"lock", "leader", "scheduled-work", "observer", "asio-server",
                           "worker-pool", "fenced-resource", "tracing"}) {
    TalkingProcess process{{"/usr/bin/env", "TMPDIR=" + folder_.path().string(), path_of(name)}};
    EXPECT_EQ(process.quit(), 0) << name << "\n" << process.transcript();
  }
  EXPECT_FALSE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Examples, SayThatTheyCannotUseAStore) {
  for (const auto* name : {"lock", "leader", "scheduled-work", "observer", "asio-server",
                           "worker-pool", "fenced-resource", "tracing"}) {
    TalkingProcess process{{path_of(name), "no-such-store:"}};
    EXPECT_EQ(process.quit(), 1) << name << "\n" << process.transcript();
  }
}

}  // namespace
