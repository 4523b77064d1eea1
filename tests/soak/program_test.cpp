// The program itself, where it is interrupted.
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/types.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "soak/process_figures.hpp"
#include "support/patience.hpp"
#include "support/processes/child_process.hpp"
#include "support/temporary_folder.hpp"

namespace simba::soak {
namespace {

constexpr std::size_t workers = 4;

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream stream{fmt::format("/proc/{0}/task/{0}/children", process)};
  return {std::istream_iterator<pid_t>{stream}, {}};
}

class SoakProgram : public testing::TestWithParam<int> {};

TEST_P(SoakProgram, EndsItsWorkersAndSaysSoWhenItIsInterrupted) {
  const support::TemporaryFolder folder;
  const auto report = folder.path() / "report.md";
  support::ChildProcess program{
      {SIMBA_SOAK_PROGRAM, "--store", "redis", "--mutexes", "20", "--processes",
       std::to_string(workers), "--seconds", "600", "--report", report.string()},
      {}};
  std::vector<pid_t> children;
  ASSERT_TRUE(support::eventually([&] {
    children = children_of(program.id());
    return children.size() == workers || !program.running();
  }));
  if (!program.running() && program.wait() == 77) GTEST_SKIP() << "no Redis";
  program.signal(GetParam());
  ASSERT_TRUE(support::eventually([&] { return !program.running(); }));
  EXPECT_EQ(program.wait(), 130);
  for (const pid_t child : children) EXPECT_FALSE(figures_of(child)) << child;
  std::ifstream stream{report};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  EXPECT_THAT(text, testing::HasSubstr("| interrupted |"));
}

INSTANTIATE_TEST_SUITE_P(Signals, SoakProgram, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& one) { return fmt::format("Number{}", one.param); });

}  // namespace
}  // namespace simba::soak
