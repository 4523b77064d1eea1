// simba serve: the page and its API over real HTTP, on SQLite.
#include <chrono>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "process/cli/served_page.hpp"
#include "process/cli/stores.hpp"

namespace {

using namespace simba::support;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string token = "the-token-of-the-tests";
const std::string bearer = "Authorization: Bearer " + token + "\r\n";

class CliServe : public CliTest {
 protected:
  std::string url() const { return "sqlite:" + database.string(); }

  std::string token_file() const {
    const auto path = folder.path() / "token";
    std::ofstream{path} << token << '\n';
    ::chmod(path.c_str(), 0600);
    return path.string();
  }

  Words with_release() const { return {"--token-file", token_file(), "--allow-release"}; }

  void SetUp() override { ASSERT_EQ(run_cli({"init", "-b", url()}).code, 0); }

  static bool is_owned(const json& mutex) { return !mutex.at("owner").is_null(); }
  static bool is_free(const json& mutex) { return mutex.at("owner").is_null(); }
};

TEST_F(CliServe, ShowsWhoOwnsWhatAndWhatHappensNext) {
  const ServedPage page{url()};
  EXPECT_EQ(page.get("/api/mutexes/m").status, 404);
  CliProgram owner{script("echo runs; exec sleep 600", {"--id", "ann"})};
  const json owned = page.mutex("m", is_owned);
  EXPECT_EQ(owned.at("owner"), "ann");
  EXPECT_GT(owned.at("token"), 0);
  EXPECT_FALSE(owned.at("lease_ends").is_null());
  EXPECT_EQ(owned.at("last_change").at("what"), "acquired");
  EXPECT_EQ(page.get("/api/mutexes").object().at("mutexes").at(0).at("mutex"), "m");
  owner.signal(SIGTERM);
  const json freed = page.mutex("m", is_free);
  EXPECT_EQ(freed.at("last_change").at("what"), "released");
  EXPECT_EQ(freed.at("last_change").at("before"), "ann");
  const json past = page.get("/api/changes?mutex=m&limit=10").object();
  EXPECT_EQ(past.at("changes").size(), 2U);
}

TEST_F(CliServe, ThePageRunsNoScriptButItsOwn) {
  const ServedPage page{url()};
  for (const char* path : {"/", "/app.js", "/app.css", "/icon.svg", "/api/mutexes", "/none"}) {
    const auto answer = page.get(path);
    EXPECT_EQ(answer.status, std::string{path} == "/none" ? 404 : 200) << path;
    EXPECT_THAT(
        answer.head,
        AllOf(HasSubstr("Content-Security-Policy: default-src 'none'; "
                        "script-src 'self';"),
              HasSubstr("X-Content-Type-Options: nosniff"), HasSubstr("frame-ancestors 'none'"),
              Not(HasSubstr("unsafe-inline")), Not(HasSubstr("Access-Control"))))
        << path;
  }
  const std::string html = page.get("/").body;
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, Not(HasSubstr("style=")));
  EXPECT_THAT(page.get("/app.js").body, Not(HasSubstr("innerHTML")));
}

TEST_F(CliServe, SendsChangesAsEventsAndWhatWasMissedAfterAnInterruption) {
  const ServedPage page{url()};
  const auto open = [&](const std::string& since) {
    return "GET /api/events" + since + " HTTP/1.1\r\nHost: " + page.host() + "\r\n\r\n";
  };
  std::string seen;
  {
    simba::http::RawClient client{page.port(), open("")};
    seen = client.until("event: reset\ndata: {}\n\n");
    EXPECT_THAT(seen, AllOf(HasSubstr("Content-Type: text/event-stream"), HasSubstr("event: hello"),
                            HasSubstr("event: health")));
  }
  CliProgram owner{script("exec sleep 600", {"--id", "ann"})};
  page.mutex("m", is_owned);
  const auto at = seen.find("id: ") + 4;
  const std::string id = seen.substr(at, seen.find('\n', at) - at);
  simba::http::RawClient again{page.port(), open("?since=" + id)};
  const std::string missed = again.until("event: news");
  EXPECT_THAT(missed + again.until("\n\n"),
              AllOf(HasSubstr(R"("owner":"ann")"), Not(HasSubstr("event: reset"))));
  owner.signal(SIGTERM);
  EXPECT_THAT(again.until(R"("what":"released")"), HasSubstr("event: news"));
  simba::http::RawClient stranger{page.port(), open("?since=0123456789abcdef.1")};
  EXPECT_THAT(stranger.until("event: reset"), HasSubstr("event: reset"));
}

TEST_F(CliServe, WhoeverHasTheTokenReleasesByForceAndNobodyElse) {
  const ServedPage page{url(), with_release()};
  CliProgram owner{line("run", with_short_lease({"--id", "ann", "--on-loss", "continue", "--", "sh",
                                                 "-c", "echo runs; exec sleep 600"}))};
  ASSERT_TRUE(owner.says("runs"));
  page.mutex("m", is_owned, bearer);
  const std::string path = "/api/mutexes/m/release";
  const std::string body = R"({"owner":"ann"})";
  EXPECT_EQ(page.get("/api/mutexes").status, 401);
  EXPECT_EQ(page.get("/api/events").status, 401);
  EXPECT_EQ(page.post(path, body, "").status, 401);
  EXPECT_EQ(page.post(path, body, "Authorization: Bearer not-the-token\r\n").status, 401);
  EXPECT_EQ(page.get(path, bearer).status, 405);
  EXPECT_EQ(page.post(path, body, bearer + "Origin: http://evil.example.com\r\n").status, 403);
  EXPECT_EQ(page.post(path, body, bearer + "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(page.post(path, "owner=ann", bearer).status, 400);
  EXPECT_EQ(page.post(path, R"({"owner":7})", bearer).status, 400);
  EXPECT_EQ(page.post(path, R"({"owner":"bob"})", bearer).status, 409);
  EXPECT_EQ(this->owner(), "ann");

  const auto released = page.post(path, body, bearer);
  EXPECT_EQ(released.status, 200) << released.body;
  EXPECT_EQ(released.object().at("released"), "ann");
  EXPECT_EQ(page.mutex("m", is_free, bearer).at("last_change").at("what"), "forced");
  EXPECT_TRUE(owner.notes("lost"));
}

TEST_F(CliServe, ABrowserLogsInOnceAndOnlyThePageItselfActs) {
  const ServedPage page{url(), with_release()};
  const std::string origin = "Origin: http://" + page.host() + "\r\n";
  EXPECT_EQ(page.get("/").status, 200);
  EXPECT_EQ(page.get("/api/session").object().at("needs_login"), true);
  EXPECT_EQ(page.post("/api/login", R"({"token":"wrong"})", origin).status, 401);
  EXPECT_EQ(page.post("/api/login", R"({"token":"wrong"})", "").status, 403);
  EXPECT_EQ(page.post("/api/login", "[]", origin).status, 400);
  const auto in = page.post("/api/login", json{{"token", token}}.dump(), origin);
  ASSERT_EQ(in.status, 200) << in.body;
  EXPECT_THAT(in.head, AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict")));
  const auto at = in.head.find("Set-Cookie: ") + 12;
  const std::string cookie = "Cookie: " + in.head.substr(at, in.head.find(';', at) - at) + "\r\n";
  EXPECT_EQ(page.get("/api/mutexes", cookie).status, 200);
  EXPECT_EQ(page.get("/api/session", cookie).object().at("logged_in"), true);
  const std::string path = "/api/mutexes/m/release";
  EXPECT_EQ(page.post(path, R"({"owner":"ann"})", cookie).status, 403);
  EXPECT_EQ(page.post(path, R"({"owner":"ann"})", cookie + "Origin: http://127.0.0.1:1\r\n").status,
            403);
  EXPECT_EQ(page.post(path, R"({"owner":"ann"})", cookie + origin).status, 409);
}

TEST_F(CliServe, WithoutATokenItOnlyShows) {
  const ServedPage page{url()};
  EXPECT_EQ(page.get("/api/mutexes").status, 200);
  const auto refused = page.post("/api/mutexes/m/release", R"({"owner":"ann"})", bearer);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("--allow-release"));
  const auto end = run_cli({"serve", "-b", url(), "--listen", "127.0.0.1:0", "--allow-release"});
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("--token-file"));
}

TEST_F(CliServe, AnswersUnderItsOwnNamesOnly) {
  const ServedPage page{url(), {"--host", "ops.example.com"}};
  const auto asked_as = [&](const std::string& host) {
    return page.ask("GET /api/mutexes HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
        .status;
  };
  EXPECT_EQ(asked_as("localhost"), 200);
  EXPECT_EQ(asked_as("ops.example.com:7462"), 200);
  EXPECT_EQ(asked_as("rebound.example.com"), 421);
  EXPECT_EQ(asked_as("ops.example.com.evil.net"), 421);
}

TEST_F(CliServe, AnAddressThatOthersReachNeedsTlsAndAToken) {
  const auto refusal_of = [&](Words options) {
    Words words{"serve", "-b", url(), "--listen", "0.0.0.0:0"};
    words.insert(words.end(), options.begin(), options.end());
    const auto end = run_cli(words);
    EXPECT_EQ(end.code, 64) << end.err;
    return end.err;
  };
  EXPECT_THAT(refusal_of({}), HasSubstr("needs --tls-cert, --tls-key and --token-file"));
  EXPECT_THAT(refusal_of({"--token-file", token_file()}), HasSubstr("needs --tls-cert and"));
  EXPECT_THAT(refusal_of({"--tls-cert", "c.pem", "--tls-key", "k.pem"}),
              HasSubstr("needs --token-file"));
}

TEST_F(CliServe, RefusesWhatMakesNoSenseWithAReason) {
  const ServedPage page{url()};
  const auto get = [&](const std::string& path) { return page.get(path).status; };
  EXPECT_EQ(get("/api/changes?limit=0"), 400);
  EXPECT_EQ(get("/api/changes?limit=1e9"), 400);
  EXPECT_EQ(get("/api/changes?limit=99999999999999999999"), 400);
  EXPECT_EQ(get("/api/mutexes/%zz"), 400);
  EXPECT_EQ(get("/api/mutexes/%00"), 400);
  EXPECT_EQ(get("/api/mutexes/%ff%fe"), 404);
  EXPECT_EQ(get("/api/mutexes/"), 404);
  EXPECT_EQ(get("/api/nothing"), 404);
  EXPECT_EQ(get("/../../etc/passwd"), 404);
  EXPECT_EQ(page.post("/api/mutexes", "{}", "").status, 405);
  EXPECT_EQ(page.post("/", "{}", "").status, 405);
  EXPECT_EQ(page.post("/api/login", "{}", "").status, 403);
  EXPECT_EQ(page.ask("garbage\r\n\r\n").status, 400);
  EXPECT_EQ(get("/" + std::string(10'000, 'x')), 431);
  EXPECT_EQ(page.post("/api/login", std::string(100'000, ' '), "").status, 413);
  EXPECT_THAT(page.get("/api/changes?limit=x").body, HasSubstr("from 1 to"));
  EXPECT_EQ(get("/api/mutexes"), 200) << "nothing is lost";
}

TEST_F(CliServe, WhatIsWrongOnTheCommandLineIsSaidBeforeItServes) {
  const auto refusal_of = [&](Words options) {
    options.insert(options.begin(), {"serve", "-b", url()});
    const auto end = run_cli(options);
    EXPECT_NE(end.code, 0);
    return end.err;
  };
  EXPECT_THAT(refusal_of({"--interval", "1ms"}), HasSubstr("--interval must be at least 100 ms"));
  EXPECT_THAT(refusal_of({"--history", "9999999"}), HasSubstr("--history must be at most"));
  EXPECT_THAT(refusal_of({"--listen", "here"}), HasSubstr("--listen"));
  EXPECT_THAT(refusal_of({"--host", "a b"}), HasSubstr("--host must be a host name"));
  EXPECT_THAT(refusal_of({"--token-file", (folder.path() / "none").string()}),
              HasSubstr("cannot read"));
}

TEST_F(CliServe, EndsAtOnceWhileStreamsAreOpen) {
  ServedPage page{url()};
  simba::http::RawClient client{page.port(),
                                "GET /api/events HTTP/1.1\r\nHost: " + page.host() + "\r\n\r\n"};
  client.until("event: hello");
  page.program().signal(SIGTERM);
  EXPECT_EQ(page.program().wait(), 0) << page.program().err();
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(CliServe, AStoreThatIsNotThereIsAnErrorAndOneThatIsAwayIsNot) {
  const auto end = run_cli({"serve", "-b", "sqlite:" + (folder.path() / "other.db").string(),
                            "--listen", "127.0.0.1:0"});
  EXPECT_EQ(end.code, 78) << end.err;
  const ServedPage page{"redis://127.0.0.1:1"};
  const json health = page.get("/api/health").object();
  EXPECT_EQ(health.at("reachable"), false);
  EXPECT_FALSE(health.at("error").is_null());
}

TEST_F(CliServe, ServesOverTlsUnderItsAddress) {
  const auto certificate = folder.path() / "page.pem";
  const auto key = folder.path() / "page.key";
  CliProgram make{CliProgram::Any::program,
                  "openssl",
                  {"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=page", "-days",
                   "2", "-keyout", key.string(), "-out", certificate.string()}};
  ASSERT_EQ(make.wait(), 0) << make.err();
  CliProgram page{{"serve", "-b", url(), "--listen", "0.0.0.0:0", "--json", "--tls-cert",
                   certificate.string(), "--tls-key", key.string(), "--token-file", token_file()}};
  ASSERT_TRUE(page.says("\n")) << page.err();
  const std::string address = json::parse(page.out()).at("url");
  EXPECT_THAT(address, HasSubstr("https://0.0.0.0:"));
  const std::string port =
      address.substr(address.rfind(':') + 1, address.size() - address.rfind(':') - 2);
  CliProgram client{
      CliProgram::Any::program,
      "openssl",
      {"s_client", "-quiet", "-connect", "127.0.0.1:" + port},
      {},
      "GET /api/mutexes HTTP/1.1\r\nHost: localhost\r\n" + bearer + "Connection: close\r\n\r\n"};
  client.wait();
  EXPECT_THAT(client.out(), AllOf(HasSubstr("HTTP/1.1 200"), HasSubstr("\"mutexes\":[")));
}

}  // namespace
