// The program itself, where it must find something, and where it is interrupted.
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/patience.hpp"
#include "support/processes/child_process.hpp"
#include "support/processes/process_state.hpp"
#include "support/temporary_folder.hpp"

namespace simba::chaos {
namespace {

using namespace std::chrono_literals;
using support::processes_about;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string text{};
};

Outcome run(const std::string& arguments) {
  const auto command = fmt::format("{} {} 2>&1", SIMBA_CHAOS_PROGRAM, arguments);
  FILE* const stream = ::popen(command.c_str(), "r");
  Outcome outcome;
  std::array<char, 4'096> buffer{};
  while (stream != nullptr && std::fgets(buffer.data(), buffer.size(), stream) != nullptr) {
    outcome.text += buffer.data();
  }
  const int status = stream == nullptr ? -1 : ::pclose(stream);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// Of the server in a contender's command line.
std::uint16_t port_of(const std::string& line) {
  constexpr std::string_view before = "@127.0.0.1:";
  const auto at = line.find(before);
  return at == std::string::npos
             ? std::uint16_t{0}
             : static_cast<std::uint16_t>(std::stoi(line.substr(at + before.size())));
}

bool accepts_connections(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(*-reinterpret-cast): the way of sockets
  const bool accepted =
      ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return accepted;
}

TEST(ChaosProgram, NamesStoresAndFaults) {
  const auto outcome = run("--list");
  EXPECT_EQ(outcome.code, 0);
  for (const auto* const text : {"sqlite", "redis-cluster", "zookeeper-ensemble", "server killed",
                                 "contender paused past its lease"}) {
    EXPECT_THAT(outcome.text, HasSubstr(text));
  }
}

TEST(ChaosProgram, ExplainsWrongUsage) {
  const auto outcome = run("--store nothing");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.text, HasSubstr("there is no store 'nothing'"));
  EXPECT_THAT(outcome.text, HasSubstr("usage: simba-chaos"));
}

TEST(ChaosProgram, TakesTheResultsOfAnEarlierRunWhereItIsToldTo) {
  support::TemporaryFolder folder;
  fs::create_directory(folder.path() / "redis");
  std::ofstream{folder.path() / "redis" / "result"}
      << "store redis\nseconds 77\nownerships 1\nupdates 1\nslots 1\nfaults 1\n";
  const auto arguments = "--store redis --out " + folder.path().string();
  EXPECT_EQ(run(arguments).code, 2) << "it must not overwrite them";
  const auto outcome = run(arguments + " --resume");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("77"));
}

class ChaosProgramOn : public ::testing::TestWithParam<const char*> {};

// What is documented as unsafe makes two owners, and they are found: a clean table means something.
// Nobody has asked for the records, but they are kept.
TEST_P(ChaosProgramOn, FindsTwoOwnersWhereTheServersClockIsSetForwardAndKeepsTheRecords) {
  const auto outcome = run(fmt::format("--store {} --unsafe --seconds 12 --seed 1", GetParam()));
  if (outcome.code == 77) GTEST_SKIP() << outcome.text;
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("two owners: c"));
  constexpr std::string_view before = "records and logs are in ";
  const auto at = outcome.text.find(before);
  ASSERT_NE(at, std::string::npos) << outcome.text;
  const auto begin = at + before.size();
  const fs::path folder = outcome.text.substr(begin, outcome.text.find('\n', begin) - begin);
  std::ifstream stream{folder / "timeline.html"};
  const std::string page{std::istreambuf_iterator<char>{stream}, {}};
  EXPECT_THAT(page, HasSubstr("class=\"wrong\""));
  EXPECT_TRUE(fs::exists(folder / "c0.0.chaos-lock.record"));
  fs::remove_all(folder.parent_path());
}

INSTANTIATE_TEST_SUITE_P(Stores, ChaosProgramOn,
                         ::testing::Values("mariadb", "postgresql", "redis"),
                         [](const auto& store) { return std::string{store.param}; });

TEST(ChaosProgram, EndsWhatItHasStartedWhenItIsInterrupted) {
  support::TemporaryFolder folder;
  support::ChildProcess program{{SIMBA_CHAOS_PROGRAM, "--store", "redis", "--seconds", "600",
                                 "--out", folder.path().string()},
                                {}};
  const auto record = folder.path() / "redis" / "c0.0.chaos-lock.record";
  ASSERT_TRUE(support::eventually([&] { return fs::exists(record) || !program.running(); }));
  if (!program.running() && program.wait() == 77) GTEST_SKIP() << "no Redis";
  // The last word of a contender is the URL of the server.
  const auto contenders = processes_about(" contender " + folder.path().string());
  ASSERT_FALSE(contenders.empty());
  const auto port = port_of(contenders.front());
  // A fault may keep it down for a while.
  ASSERT_TRUE(support::eventually([&] { return accepts_connections(port); }));

  program.signal(SIGTERM);
  ASSERT_TRUE(support::eventually([&] { return !program.running(); }));
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(processes_about(folder.path().string()), IsEmpty());
  EXPECT_FALSE(accepts_connections(port));
}

}  // namespace
}  // namespace simba::chaos
