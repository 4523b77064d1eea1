#include "http/health_pages.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "support/temporary_folder.hpp"

namespace simba::http {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct HttpHealthPages : ::testing::Test {
  HealthPages pages(Exposure exposure = {.on_loopback = true}) {
    return HealthPages{[this] { return report; },
                       {.runtime = runtime.runtime(), .patience = 3s},
                       std::move(exposure)};
  }

  static Response ask(const HealthPages& pages, std::string path, std::vector<Header> headers = {},
                      std::string method = "GET") {
    return pages.answer(
        {.method = std::move(method), .path = std::move(path), .headers = std::move(headers)});
  }

  static void set_leading(HealthReport& report) {
    report.leads = true;
    report.lease_left = 5s;
    report.fencing_token = 7;
    report.owner = report.contender_id;
  }

  testkit::ManualRuntime runtime;
  HealthReport report{.mutex = "m", .contender_id = "me", .owner = "other"};
};

TEST_F(HttpHealthPages, TellTheLeaderFromAFollower) {
  const HealthPages all = pages();
  EXPECT_EQ(ask(all, "/leader").status, 503);
  EXPECT_EQ(ask(all, "/leader").body, "does not lead: mutex \"m\" is owned by other\n");
  EXPECT_EQ(ask(all, "/follower").status, 200);
  set_leading(report);
  EXPECT_EQ(ask(all, "/leader").status, 200);
  EXPECT_EQ(ask(all, "/leader").body, "leads: mutex \"m\", fencing token 7\n");
  EXPECT_EQ(ask(all, "/follower").status, 503);
}

TEST_F(HttpHealthPages, DoNotCallAProcessLeaderThatDrainsOrHasNoLease) {
  const HealthPages all = pages();
  set_leading(report);
  report.draining = true;
  EXPECT_EQ(ask(all, "/leader").status, 503);
  EXPECT_EQ(ask(all, "/follower").status, 200);
  report.draining = false;
  report.lease_left = 0s;
  EXPECT_EQ(ask(all, "/leader").status, 503);
}

TEST_F(HttpHealthPages, AnswerGetHeadAndOptionsAlikeAndNothingElse) {
  const HealthPages all = pages();
  for (const auto* const method : {"GET", "HEAD", "OPTIONS"}) {
    EXPECT_EQ(ask(all, "/follower", {}, method).status, 200) << method;
    EXPECT_EQ(ask(all, "/leader", {}, method).status, 503) << method;
  }
  for (const auto* const method : {"POST", "DELETE", "get", "BREW"}) {
    EXPECT_EQ(ask(all, "/leader", {}, method).status, 405) << method;
  }
  for (const auto* const path : {"/", "/leader/", "/Leader", "*", "/../status"}) {
    EXPECT_EQ(ask(all, path).status, 404) << path;
  }
}

TEST_F(HttpHealthPages, AreAliveThroughAnOutageOfTheStore) {
  HealthPages all = pages();
  report.ready = false;
  for (int second = 0; second < 100; ++second) {
    all.tick();
    runtime.advance(1s);
  }
  EXPECT_EQ(ask(all, "/liveness").status, 200);
  EXPECT_EQ(ask(all, "/readiness").status, 503);
}

TEST_F(HttpHealthPages, AreReadyWhoeverLeads) {
  const HealthPages all = pages();
  EXPECT_EQ(ask(all, "/readiness").status, 200);
  set_leading(report);
  EXPECT_EQ(ask(all, "/readiness").status, 200);
}

TEST_F(HttpHealthPages, AreNotAliveOnceTheTimersHaveStoodStillForLong) {
  HealthPages all = pages();
  for (int tick = 0; tick < 3; ++tick) {
    all.tick();
    EXPECT_EQ(ask(all, "/liveness").status, 200) << tick;
  }
  all.tick();
  EXPECT_EQ(ask(all, "/liveness").status, 503);
  EXPECT_EQ(ask(all, "/liveness").body, "no timer has fired for 3 s\n");
  runtime.advance(1s);
  all.tick();
  EXPECT_EQ(ask(all, "/liveness").status, 200);
}

TEST_F(HttpHealthPages, AreNotAliveWhileLeadershipIsClaimedPastItsDeadline) {
  HealthPages all = pages();
  set_leading(report);
  report.lease_left = 0s;
  const auto second = [&] {
    all.tick();
    runtime.advance(1s);
  };
  second();
  second();
  EXPECT_EQ(ask(all, "/liveness").status, 200);
  second();
  EXPECT_EQ(ask(all, "/liveness").status, 503);
  EXPECT_THAT(ask(all, "/liveness").body, HasSubstr("claimed although the lease ended 3 s ago"));
  report.leads = false;
  second();
  EXPECT_EQ(ask(all, "/liveness").status, 200);
}

TEST_F(HttpHealthPages, ShowTheStatusAsAnObject) {
  set_leading(report);
  report.mutex = "<\xff>";
  const Response response = ask(pages(), "/status");
  EXPECT_EQ(response.content_type, "application/json");
  const auto object = nlohmann::json::parse(response.body);
  EXPECT_EQ(object["mutex"], "<\xef\xbf\xbd>");
  EXPECT_EQ(object["owner"], "me");
  EXPECT_EQ(object["leads"], true);
  EXPECT_EQ(object["lease_left_ms"], 5'000);
  EXPECT_EQ(object["fencing_token"], 7);
}

TEST_F(HttpHealthPages, ShowMetricsInTheFormatThatIsAccepted) {
  const HealthPages all = pages();
  EXPECT_THAT(ask(all, "/metrics").content_type, HasSubstr("version=0.0.4"));
  const Response open = ask(all, "/metrics", {{"Accept", "application/openmetrics-text"}});
  EXPECT_THAT(open.content_type, HasSubstr("application/openmetrics-text"));
  EXPECT_THAT(open.body, HasSubstr("# EOF\n"));
}

TEST_F(HttpHealthPages, ShowStrangersNothingButStatusCodes) {
  const HealthPages off_host = pages({.on_loopback = false});
  for (const auto* const path : {"/leader", "/follower", "/liveness", "/readiness", "/none"}) {
    EXPECT_EQ(ask(off_host, path).body, "") << path;
  }
  EXPECT_EQ(ask(off_host, "/follower").status, 200);
  EXPECT_EQ(ask(off_host, "/metrics").status, 403);
  EXPECT_EQ(ask(off_host, "/status").status, 403);
}

TEST_F(HttpHealthPages, TakeANameThatLeadsHereForAStranger) {
  const HealthPages local = pages();
  EXPECT_EQ(ask(local, "/status", {{"Host", "localhost:80"}}).status, 200);
  EXPECT_EQ(ask(local, "/status", {{"Host", "evil.example"}}).status, 403);
  EXPECT_EQ(ask(local, "/leader", {{"Host", "evil.example"}}).body, "");
}

TEST_F(HttpHealthPages, ShowAllToWhoeverSendsTheToken) {
  for (const bool on_loopback : {false, true}) {
    const HealthPages guarded = pages({.token = "0123456789abcdef", .on_loopback = on_loopback});
    EXPECT_EQ(ask(guarded, "/status").status, 401);
    EXPECT_EQ(ask(guarded, "/leader").body, "");
    EXPECT_EQ(ask(guarded, "/status", {{"Authorization", "Bearer 0123456789abcdeF"}}).status, 401);
    EXPECT_EQ(ask(guarded, "/status", {{"Authorization", "Bearer 0123456789abcdef"}}).status, 200);
    EXPECT_NE(ask(guarded, "/leader", {{"Authorization", "Bearer 0123456789abcdef"}}).body, "");
  }
}

TEST_F(HttpHealthPages, RefuseAUselessToken) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "token").string();
  const auto write = [&](const std::string& text) { std::ofstream{file} << text; };
  EXPECT_THROW(read_token(file), Error);
  EXPECT_THROW(read_token(folder.path().string()), Error);
  for (const std::string text : {"", "\n", "short\n", "0123456789 abcdef"}) {
    write(text);
    EXPECT_THROW(read_token(file), Error) << text;
  }
  write(std::string(5'000, 'x'));
  EXPECT_THROW(read_token(file), Error);
  write("  0123456789abcdef\n");
  EXPECT_EQ(read_token(file), "0123456789abcdef");
}

}  // namespace
}  // namespace simba::http
