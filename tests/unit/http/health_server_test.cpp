#include "simba/http/health_server.hpp"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.hpp"
#include "raw_client.hpp"
#include "simba/core/error.hpp"
#include "support/temporary_folder.hpp"

namespace simba::http {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ask_server(const HealthServer& server, const std::string& request) {
  const std::string address = server.address();
  const auto port = detail::parse_number<std::uint16_t>(address.substr(address.rfind(':') + 1));
  RawClient client{port.value(), request};
  return client.until_closed();
}

TEST(HttpHealthServer, AnswersLoadBalancers) {
  const HealthServer server{
      "127.0.0.1:0", [] { return HealthReport{.mutex = "m", .leads = true, .lease_left = 1s}; }};
  EXPECT_THAT(ask_server(server, "OPTIONS /leader HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200 "));
  EXPECT_THAT(ask_server(server, "HEAD /follower HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 503 "));
  EXPECT_THAT(ask_server(server, "GET /metrics HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 404 "));
}

TEST(HttpHealthServer, ShowsMoreThanStatusCodesWithTheTokenOnly) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "token").string();
  std::ofstream{file} << "0123456789abcdef\n";
  const HealthServer server{
      "0.0.0.0:0",
      [] { return HealthReport{.mutex = "m"}; },
      {.runtime = make_runtime({.log = make_null_logger()}), .token_file = file}};
  EXPECT_THAT(ask_server(server, "GET /metrics HTTP/1.0\r\n\r\n"),
              HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(ask_server(server, "GET /leader HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(ask_server(server,
                         "GET /metrics HTTP/1.0\r\n"
                         "Authorization: Bearer 0123456789abcdef\r\n\r\n"),
              HasSubstr("simba_build_info"));
}

TEST(HttpHealthServer, RefusesOptionsThatAreOutOfBounds) {
  const auto report = [] { return HealthReport{}; };
  EXPECT_THROW(HealthServer(":8080", report), InvalidArgumentError);
  EXPECT_THROW(HealthServer("127.0.0.1:0", report, {.patience = 0s}), InvalidArgumentError);
  EXPECT_THROW(HealthServer("127.0.0.1:0", report, {.token_file = "/no/such"}), Error);
  const HealthServer first{"127.0.0.1:0", report};
  EXPECT_THROW(HealthServer(first.address(), report), Error);
}

}  // namespace
}  // namespace simba::http
