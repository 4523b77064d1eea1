// --listen, --token-file, --drain-probes, and what systemd is told.
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "process/cli/http_client.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using support::CliProgram;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct CliProbes : support::CliTest {
  static Words listening(Words options = {}) {
    options.insert(options.end(), {"--listen", "127.0.0.1:0"});
    return options;
  }

  /// Where it says that it listens.
  static std::uint16_t port_of(const CliProgram& program) {
    EXPECT_TRUE(program.notes("listening on ")) << program.err();
    const std::string err = program.err();
    const auto line = err.find("listening on ");
    const auto colon = err.find(':', line);
    return colon == std::string::npos
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(std::stoi(err.substr(colon + 1)));
  }

  static bool answers(const CliProgram& program, std::string_view request, int status) {
    const auto port = port_of(program);
    return support::eventually([&] { return support::status_of(port, request) == status; });
  }
};

TEST_F(CliProbes, TellTheLeaderFromAFollowerAcrossAHandOver) {
  CliProgram first{line("elect", listening({"--id", "first"}))};
  ASSERT_TRUE(answers(first, "GET /leader", 200)) << first.err();
  EXPECT_EQ(support::status_of(port_of(first), "HEAD /leader"), 200);
  EXPECT_EQ(support::status_of(port_of(first), "OPTIONS /leader"), 200);
  EXPECT_EQ(support::status_of(port_of(first), "GET /follower"), 503);
  CliProgram second{line("elect", listening({"--id", "second"}))};
  ASSERT_TRUE(answers(second, "GET /readiness", 200)) << second.err();
  EXPECT_EQ(support::status_of(port_of(second), "GET /leader"), 503);
  EXPECT_EQ(support::status_of(port_of(second), "GET /follower"), 200);
  EXPECT_EQ(support::status_of(port_of(second), "GET /liveness"), 200);
  EXPECT_THAT(support::answer_to(port_of(second), "GET /leader HTTP/1.0\r\n\r\n"),
              HasSubstr("is owned by first"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_TRUE(answers(second, "GET /leader", 200));
}

TEST_F(CliProbes, AreThoseOfScheduleToo) {
  CliProgram program{line("schedule", {"--listen", "127.0.0.1:0", "--every", "1h", "--", "true"})};
  EXPECT_TRUE(answers(program, "GET /leader", 200)) << program.err();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
}

TEST_F(CliProbes, ShowMetricsAndStatusOnThisHost) {
  CliProgram program{script("sleep 600", listening({"--id", "me"}))};
  ASSERT_TRUE(answers(program, "GET /leader", 200)) << program.err();
  const auto port = port_of(program);
  EXPECT_THAT(support::answer_to(port, "GET /metrics HTTP/1.0\r\n\r\n"),
              HasSubstr("simba_owner{mutex=\"m\"} 1\n"));
  const std::string answer = support::answer_to(port, "GET /status HTTP/1.0\r\n\r\n");
  const auto object = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n")));
  EXPECT_EQ(object["contender_id"], "me");
  EXPECT_EQ(object["leads"], true);
  EXPECT_EQ(object["live"], true);
  EXPECT_EQ(object["fencing_token"], 1);
  EXPECT_GT(object["lease_left_ms"], 0);
  EXPECT_THAT(support::answer_to(port, "GET /status HTTP/1.0\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.0 403 "));
}

TEST_F(CliProbes, ShowMoreThanStatusCodesOnOtherAddressesWithTheTokenOnly) {
  const auto token = folder.path() / "token";
  std::ofstream{token} << "0123456789abcdef0123456789abcdef\n";
  CliProgram bare{line("elect", {"--listen", "0.0.0.0:0"})};
  ASSERT_TRUE(answers(bare, "GET /leader", 200)) << bare.err();
  EXPECT_EQ(support::status_of(port_of(bare), "GET /metrics"), 403);
  CliProgram guarded{line("elect", {"--listen", "0.0.0.0:0", "--token-file", token.string()})};
  ASSERT_TRUE(answers(guarded, "GET /follower", 200)) << guarded.err();
  EXPECT_EQ(support::status_of(port_of(guarded), "GET /metrics"), 401);
  EXPECT_THAT(support::answer_to(port_of(guarded),
                                 "GET /metrics HTTP/1.0\r\nAuthorization: Bearer "
                                 "0123456789abcdef0123456789abcdef\r\n\r\n"),
              HasSubstr("simba_owner{mutex=\"m\"} 0\n"));
}

TEST_F(CliProbes, AreRefusedBeforeAnythingIsStarted) {
  CliProgram first{line("elect", listening())};
  const std::string taken = "127.0.0.1:" + std::to_string(port_of(first));
  CliProgram second{script("echo started", {"--listen", taken})};
  EXPECT_EQ(second.wait(), 78);
  EXPECT_THAT(second.err(), HasSubstr("cannot listen on " + taken + ": Address already in use"));
  EXPECT_EQ(second.out(), "");
  CliProgram third{script("echo started", {"--listen", ":8080"})};
  EXPECT_EQ(third.wait(), 64);
  EXPECT_THAT(third.err(), HasSubstr("127.0.0.1:8080 for this host only"));
  CliProgram fourth{script("true", listening({"--token-file", "/no/such/file"}))};
  EXPECT_EQ(fourth.wait(), 78);
  EXPECT_THAT(fourth.err(), HasSubstr("cannot use the token file '/no/such/file'"));
  CliProgram fifth{script("true", {"--drain-probes", "1s"})};
  EXPECT_EQ(fifth.wait(), 64);
  CliProgram sixth{script("true", listening({"--drain-probes", "1s", "--max-hold", "1s"}))};
  EXPECT_EQ(sixth.wait(), 64);
  EXPECT_THAT(sixth.err(), HasSubstr("--drain-probes must be shorter than --max-hold"));
}

TEST_F(CliProbes, SayThatItNoLongerLeadsBeforeTheCommandIsToldToEnd) {
  CliProgram program{script("trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.01; done",
                            listening({"--drain-probes", "2s"}))};
  ASSERT_TRUE(program.says("up"));
  ASSERT_TRUE(answers(program, "GET /leader", 200));
  const auto told = support::now();
  program.signal(SIGTERM);
  ASSERT_TRUE(answers(program, "GET /leader", 503));
  EXPECT_EQ(support::status_of(port_of(program), "GET /readiness"), 503);
  EXPECT_EQ(program.out(), "up\n");
  EXPECT_NE(owner(), "");
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_GE(support::now() - told, 2s);
  EXPECT_EQ(program.out(), "up\ntold\n");
}

TEST_F(CliProbes, PassASecondSignalOnAtOnce) {
  CliProgram program{script("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done",
                            listening({"--drain-probes", "1h"}))};
  ASSERT_TRUE(program.says("up"));
  program.signal(SIGTERM);
  ASSERT_TRUE(answers(program, "GET /leader", 503));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 3) << program.err();
}

TEST_F(CliProbes, KeepTheMutexForTheirDrainAfterACommandThatEndsByItself) {
  CliProgram program{script("sleep 0.5", listening({"--drain-probes", "1s"}))};
  const auto begun = support::now();
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_GE(support::now() - begun, 1'500ms);
}

TEST_F(CliProbes, DrainBeforeALeaderOfElectStepsDown) {
  CliProgram program{
      line("elect", listening({"--drain-probes", "1s", "--on-released", "echo released"}))};
  ASSERT_TRUE(answers(program, "GET /leader", 200));
  const auto told = support::now();
  program.signal(SIGTERM);
  ASSERT_TRUE(answers(program, "GET /leader", 503));
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_GE(support::now() - told, 1s);
  EXPECT_THAT(program.out(), HasSubstr("released\n"));
}

TEST_F(CliProbes, DoNotHoldUpALeaderThatIsToldToEndBeforeItServes) {
  CliProgram program{
      line("elect", listening({"--drain-probes", "1h", "--on-acquired", "echo begun; sleep 1"}))};
  ASSERT_TRUE(program.says("begun"));
  EXPECT_EQ(support::status_of(port_of(program), "GET /leader"), 503);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
}

TEST_F(CliProbes, NeverCallAProcessLeaderThatWasStoppedPastItsLease) {
  CliProgram first{line("elect", with_short_lease(listening({"--id", "first"})))};
  ASSERT_TRUE(answers(first, "GET /leader", 200));
  CliProgram second{line("elect", with_short_lease(listening({"--id", "second"})))};
  ASSERT_TRUE(answers(second, "GET /readiness", 200));
  const auto port = port_of(first);
  first.signal(SIGSTOP);
  ASSERT_TRUE(answers(second, "GET /leader", 200));
  first.signal(SIGCONT);
  for (int i = 0; i < 20; ++i) {
    const int status = support::status_of(port, "GET /leader");
    if (support::status_of(port_of(second), "GET /leader") != 200) break;  // it was late, too
    EXPECT_NE(status, 200) << support::safety_violation << "two processes say that they lead";
  }
  EXPECT_TRUE(answers(first, "GET /liveness", 200));
}

TEST_F(CliProbes, GoOnWhateverStrangersSend) {
  CliProgram program{line("elect", with_short_lease(listening()))};
  ASSERT_TRUE(answers(program, "GET /leader", 200));
  const auto port = port_of(program);
  EXPECT_THAT(support::answer_to(port, "\x16\x03\x01 nonsense\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(support::answer_to(port, "GET /" + std::string(20'000, 'x')),
              StartsWith("HTTP/1.1 431 "));
  std::string pipelined;
  for (int i = 0; i < 50; ++i) pipelined += "GET /leader HTTP/1.1\r\nHost: localhost\r\n\r\n";
  EXPECT_THAT(support::answer_to(port, pipelined), HasSubstr("200 OK"));
  // More slow clients than it has connections for.
  std::vector<std::unique_ptr<support::OpenConnection>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<support::OpenConnection>(port, "GET /lea"));
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(support::status_of(port, "GET /leader"), 200);
  EXPECT_THAT(program.out(), Not(HasSubstr("lost")));
}

/// What systemd listens on.
class NotifySocket {
 public:
  /// A path, or "@" and a name that is in no file system.
  explicit NotifySocket(const std::string& name)
      : socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.starts_with('@')) address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
  }
  ~NotifySocket() { ::close(socket_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  bool hears(const std::string& text) {
    return support::eventually([&] {
      std::array<char, 4096> buffer{};
      const auto size = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size > 0) heard_ += std::string{buffer.data(), static_cast<std::size_t>(size)} + "\n";
      return heard_.find(text) != std::string::npos;
    });
  }
  const std::string& heard() const noexcept { return heard_; }

 private:
  int socket_;
  std::string heard_ = "\n";
};

struct CliNotify : support::CliTest {};

TEST_F(CliNotify, TellsSystemdWhatItDoes) {
  for (const std::string& name :
       {(folder.path() / "notify").string(), "@simba-test-" + std::to_string(::getpid())}) {
    NotifySocket socket{name};
    CliProgram program{
        script("echo \"socket ${NOTIFY_SOCKET-none} ${WATCHDOG_USEC-none}\"; sleep 600"),
        {{"NOTIFY_SOCKET", name}, {"WATCHDOG_USEC", "200000"}}};
    EXPECT_TRUE(socket.hears("\nREADY=1\n")) << socket.heard();
    EXPECT_TRUE(socket.hears("\nSTATUS=leading: mutex \"m\"\n")) << socket.heard();
    EXPECT_TRUE(socket.hears("\nWATCHDOG=1\nWATCHDOG=1\n")) << socket.heard();
    EXPECT_TRUE(program.says("socket none none")) << program.out();
    program.signal(SIGTERM);
    EXPECT_TRUE(socket.hears("\nSTOPPING=1\n")) << socket.heard();
    program.wait();
  }
}

TEST_F(CliNotify, IsReadyAlsoWhileAnotherLeads) {
  CliProgram leader{line("elect", {"--id", "first"})};
  ASSERT_TRUE(leader.says("leading"));
  NotifySocket socket{(folder.path() / "notify").string()};
  const CliProgram follower{line("elect", {}),
                            {{"NOTIFY_SOCKET", (folder.path() / "notify").string()}}};
  EXPECT_TRUE(socket.hears("\nREADY=1\n")) << socket.heard();
  EXPECT_TRUE(socket.hears("\nSTATUS=mutex \"m\" is owned by first\n")) << socket.heard();
}

TEST_F(CliNotify, DoesNotMindASocketThatIsNotThere) {
  CliProgram program{script("echo up"),
                     {{"NOTIFY_SOCKET", "/no/such/socket"}, {"WATCHDOG_USEC", "nonsense"}}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_EQ(program.out(), "up\n");
}

}  // namespace
}  // namespace simba
