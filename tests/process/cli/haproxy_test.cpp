// A load balancer that asks --listen who leads, across changes of the leader.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "process/cli/http_client.hpp"
#include "support/free_ports.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using support::CliProgram;
using Moment = std::chrono::steady_clock::time_point;

constexpr const char* haproxy = "/usr/sbin/haproxy";

/// A service that writes down from when to when it has served each request, and under which token.
constexpr const char* service = R"(
import http.server, os, sys, time
token, diary = os.environ["SIMBA_FENCING_TOKEN"], open(sys.argv[3], "a", buffering=1)
class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    begun = time.monotonic_ns()
    body = token.encode()
    self.send_response(200)
    self.send_header("Content-Length", str(len(body)))
    self.end_headers()
    self.wfile.write(body)
    print(token, begun, time.monotonic_ns(), file=diary)
  def log_message(self, *args): pass
http.server.HTTPServer.allow_reuse_address = True
http.server.HTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
)";

struct CliHaproxy : support::CliTest {
  void SetUp() override {
    if (::access(haproxy, X_OK) != 0) GTEST_SKIP() << "needs HAProxy (package haproxy)";
    ports.release();
    std::ofstream{script_file} << service;
    std::ofstream{configuration} << "global\n  maxconn 200\n"
                                 << "defaults\n  mode http\n  timeout connect 200ms\n"
                                 << "  timeout client 5s\n  timeout server 5s\n"
                                 << "frontend in\n  bind 127.0.0.1:" << ports[0]
                                 << "\n  default_backend app\n"
                                 << "backend app\n  option httpchk\n"
                                 << "  http-check connect port " << ports[1]
                                 << "\n  http-check send meth OPTIONS uri /leader\n"
                                 << "  http-check expect status 200\n"
                                 << "  http-check connect port " << ports[2]
                                 << "\n  default-server inter 100ms fall 1 rise 1\n"
                                 << "  server a 127.0.0.1:" << ports[2] << " check\n"
                                 << "  server b 127.0.0.2:" << ports[2] << " check\n";
    for (const std::size_t node : {0U, 1U}) start(node);
    proxy = std::make_unique<CliProgram>(CliProgram::Any::program, haproxy,
                                         Words{"-db", "-f", configuration.string()});
    ASSERT_TRUE(support::eventually([&] { return ask(); })) << proxy->err();
  }

  void start(std::size_t node) {
    const std::string host = node == 0 ? "127.0.0.1" : "127.0.0.2";
    nodes[node] = std::make_unique<CliProgram>(
        line("run",
             with_short_lease({"--listen", host + ":" + std::to_string(ports[1]), "--drain-probes",
                               "500ms", "--", "/usr/bin/python3", "-I", script_file.string(), host,
                               std::to_string(ports[2]), diary.string()})));
  }

  /// A request through the load balancer; whether it was served.
  bool ask() {
    const std::string answer = support::answer_to(ports[0], "GET / HTTP/1.0\r\n\r\n");
    const auto status = answer.size() > 12 ? answer.substr(9, 3) : "none";
    ++answers[status];
    if (status != "200") return false;
    token = std::stoull(answer.substr(answer.find("\r\n\r\n") + 4));
    return true;
  }

  std::size_t leader() const { return support::status_of(ports[1], "GET /leader") == 200 ? 0 : 1; }

  /// Asks until somebody with a greater token serves. Returns how long nobody did.
  std::chrono::milliseconds gap_until_next() {
    const auto before = token;
    Moment served = std::chrono::steady_clock::now();
    std::chrono::nanoseconds longest{0};
    EXPECT_TRUE(support::eventually([&] {
      if (!ask()) return false;
      const Moment now = std::chrono::steady_clock::now();
      longest = std::max<std::chrono::nanoseconds>(longest, now - served);
      served = now;
      return token > before;
    }));
    return std::chrono::duration_cast<std::chrono::milliseconds>(longest);
  }

  /// Whoever served with a greater token began after all others had ended.
  void check_diary() const {
    struct Span {
      std::int64_t begun = INT64_MAX;
      std::int64_t ended = 0;
    };
    std::map<std::uint64_t, Span> spans;
    std::ifstream lines{diary};
    std::uint64_t of = 0;
    std::int64_t begun = 0;
    std::int64_t ended = 0;
    while (lines >> of >> begun >> ended) {
      spans[of].begun = std::min(spans[of].begun, begun);
      spans[of].ended = std::max(spans[of].ended, ended);
    }
    EXPECT_GE(spans.size(), 5U);
    std::int64_t last = 0;
    for (const auto& [number, span] : spans) {
      EXPECT_GT(span.begun, last) << support::safety_violation << "two served at once, until token "
                                  << number;
      last = span.ended;
    }
  }

  support::FreePorts ports{3};  // the load balancer, the probes, the services
  const std::filesystem::path script_file = folder.path() / "service.py";
  const std::filesystem::path configuration = folder.path() / "haproxy.cfg";
  const std::filesystem::path diary = folder.path() / "diary";
  std::unique_ptr<CliProgram> nodes[2];
  std::unique_ptr<CliProgram> proxy;
  std::map<std::string, int> answers;
  std::uint64_t token = 0;
};

TEST_F(CliHaproxy, LetsOneServeAtATimeAcrossHandOversAndTakeOvers) {
  for (int i = 0; i < 3; ++i) {
    const std::size_t old = leader();
    answers.clear();
    nodes[old]->signal(SIGTERM);
    const auto gap = gap_until_next();
    std::cout << "hand-over: nobody served for " << gap.count() << " ms\n";
    for (const auto& [status, count] : answers) {
      EXPECT_TRUE(status == "200" || status == "503")
          << count << " requests were cut off, with status " << status;
    }
    nodes[old]->wait();
    start(old);
  }
  for (int i = 0; i < 3; ++i) {
    const std::size_t old = leader();
    nodes[old]->signal(SIGKILL);
    std::cout << "take-over: nobody served for " << gap_until_next().count() << " ms\n";
    nodes[old]->wait();
    start(old);
  }
  check_diary();
}

}  // namespace
}  // namespace simba
