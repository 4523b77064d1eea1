// A real Prometheus scrapes real processes: what it stores of them, and when the shipped alerts
// fire.

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include <asio.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/patience.hpp"
#include "support/processes/talking_process.hpp"
#include "support/servers.hpp"

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using simba::support::eventually;
using simba::support::PrometheusServer;
using simba::support::RedisServer;
using simba::support::TalkingProcess;
using testing::ElementsAre;
using testing::IsEmpty;

std::string file_text(const std::string& name) {
  std::ifstream file{std::string{SIMBA_TEST_SOURCES} + "/examples/prometheus/" + name};
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << "nothing to shorten: " << from;
  std::string result = text;
  for (std::size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size()) {
    result.replace(at, from.size(), to);
  }
  return result;
}

/// The shipped alerts for a scrape interval of 500 ms in place of 15 s.
std::string quick_alerts() {
  std::string rules = replaced(file_text("alerts.yml"), "for: 30s", "for: 1s");
  rules = replaced(rules, "for: 1m", "for: 2s");
  return replaced(rules, "[1m]", "[4s]");
}

std::string configuration(const std::vector<std::string>& targets) {
  std::string text =
      "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n"
      "rule_files: [alerts.yml]\n"
      "scrape_configs:\n"
      "  - job_name: simba\n"
      "    static_configs:\n";
  const std::array names{"a", "b", "elsewhere"};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    text += fmt::format("      - {{targets: ['127.0.0.1:{}'], labels: {{instance: {}}}}}\n",
                        targets[i], names.at(i));
  }
  return text;
}

std::string encoded(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return safe;
}

/// All expressions of the panels.
std::vector<std::string> dashboard_queries() {
  std::vector<std::string> queries;
  const json dashboard = json::parse(file_text("dashboard.json"));
  for (const json& panel : dashboard.at("panels")) {
    const json targets = panel.value("targets", json::array());
    for (const json& target : targets) {
      queries.push_back(target.at("expr").get<std::string>());
    }
  }
  return queries;
}

/// Two contenders for one mutex on one store, and a third on a store of its own, by mistake.
class Scraped : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = PrometheusServer::missing(); !why.empty()) GTEST_SKIP() << why;
    redis_ = std::make_unique<RedisServer>();
    const auto& at = redis_->location();
    const auto url =
        fmt::format("redis://{}:{}@{}:{}/0?ttl=2s&transition=500ms&jitter-low=0ms&jitter-high=50ms",
                    at.user, at.password, at.host, at.port);
    std::vector<std::string> targets;
    for (const std::string& store : {url, url, std::string{"memory:"}}) {
      contenders_.push_back(std::make_unique<TalkingProcess>(
          std::vector<std::string>{SIMBA_TEST_SCRAPED_CONTENDER, store, "leader"}));
      targets.push_back(contenders_.back()->said("port ").substr(5));
    }
    prometheus_ = std::make_unique<PrometheusServer>(std::vector<std::string>{
        "prometheus.yml=" + configuration(targets), "alerts.yml=" + quick_alerts()});
  }

  TalkingProcess& a() { return *contenders_.at(0); }
  TalkingProcess& b() { return *contenders_.at(1); }
  TalkingProcess& elsewhere() { return *contenders_.at(2); }

  static void order(TalkingProcess& contender, const std::string& line) {
    contender.ask(line, "ok");
  }

  /// What its API answers.
  json api(const std::string& path) const {
    asio::ip::tcp::iostream stream;
    stream.expires_after(std::chrono::seconds{20});
    stream.connect("127.0.0.1", std::to_string(prometheus_->port()));
    stream << "GET /api/v1/" << path << " HTTP/1.0\r\n\r\n" << std::flush;
    const std::string answer{std::istreambuf_iterator<char>{stream}, {}};
    const auto body = answer.find("\r\n\r\n");
    if (body == std::string::npos) return {{"status", "no answer"}, {"error", answer}};
    return json::parse(answer.substr(body + 4));
  }

  json ask(const std::string& query) const { return api("query?query=" + encoded(query)); }

  /// The value of a query that has one; -1: it has none.
  double value_of(const std::string& query) const {
    const json answer = ask(query);
    EXPECT_EQ(answer.at("status"), "success") << query << "\n" << answer;
    if (answer.at("status") != "success") return -1;
    const json& result = answer.at("data").at("result");
    return result.size() == 1 ? std::stod(result[0].at("value")[1].get<std::string>()) : -1;
  }

  std::set<std::string> firing() const {
    std::set<std::string> names;
    const json alerts = api("alerts");
    for (const json& alert : alerts.at("data").at("alerts")) {
      if (alert.at("state") == "firing") names.insert(alert.at("labels").at("alertname"));
    }
    return names;
  }

  bool fires(const std::string& alert) const {
    return eventually([&] { return firing().contains(alert); });
  }
  bool all_is_quiet() const {
    return eventually([&] { return firing().empty(); });
  }

  std::unique_ptr<RedisServer> redis_;
  std::vector<std::unique_ptr<TalkingProcess>> contenders_;
  std::unique_ptr<PrometheusServer> prometheus_;
};

TEST_F(Scraped, ContendersHaveOneOwnerAndATakeOverIsSeen) {
  order(a(), "contend");
  ASSERT_TRUE(eventually([&] { return value_of(R"(simba_owner{instance="a"})") == 1; }));
  order(b(), "contend");
  ASSERT_TRUE(eventually([&] { return value_of(R"(simba_waiting{instance="b"})") == 1; }));
  EXPECT_EQ(value_of(R"(simba_owner{instance="b"})"), 0);
  EXPECT_EQ(value_of(R"(sum(simba_owner{mutex="leader"}))"), 1);
  a().kill();
  ASSERT_TRUE(eventually([&] { return value_of(R"(simba_owner{instance="b"})") == 1; }));
  EXPECT_EQ(value_of(R"(simba_take_over_seconds_count{instance="b"})"), 1);
  EXPECT_EQ(value_of(R"(sum(simba_owner{mutex="leader"}))"), 1);
}

TEST_F(Scraped, TargetsAreReadWithoutAnErrorWhateverMutexesAreCalled) {
  order(a(), "lock");
  const std::string query = R"(simba_owner{mutex="a\"b\\c\n<script>)"
                            "\U0001F512\"}";
  ASSERT_TRUE(eventually([&] { return value_of(query) == 1; }));
  ASSERT_TRUE(eventually([&] { return value_of("sum(up)") == 3; }));
  const json targets = api("targets");
  EXPECT_EQ(targets.at("data").at("activeTargets").size(), 3U);
  for (const json& target : targets.at("data").at("activeTargets")) {
    EXPECT_EQ(target.at("health"), "up");
    EXPECT_EQ(target.at("lastError"), "");
  }
  const json all_metadata = api("metadata");
  for (const json& metadata : all_metadata.at("data")) {
    EXPECT_NE(metadata[0].at("type"), "unknown") << metadata;
  }
}

TEST_F(Scraped, EveryQueryOfTheDashboardHasAnAnswer) {
  order(a(), "contend");
  ASSERT_TRUE(eventually([&] { return value_of(R"(simba_owner{instance="a"})") == 1; }));
  // Rates need two samples.
  ASSERT_TRUE(eventually(
      [&] { return value_of(R"(count_over_time(simba_owner{instance="a"}[1m]))") >= 3; }));
  const auto queries = dashboard_queries();
  EXPECT_GE(queries.size(), 20U);
  for (std::string query : queries) {
    query = std::regex_replace(query, std::regex{R"(\$mutex)"}, ".*");
    query = std::regex_replace(query, std::regex{R"(\$__rate_interval)"}, "1m");
    EXPECT_EQ(query.find('$'), std::string::npos) << query;
    const json answer = ask(query);
    EXPECT_EQ(answer.at("status"), "success") << query << "\n" << answer;
    if (answer.at("status") != "success") continue;
    EXPECT_FALSE(answer.at("data").at("result").empty()) << query;
  }
}

TEST_F(Scraped, TheShippedAlertsFireWhenTheyAreTrueAndNotOtherwise) {
  EXPECT_TRUE(fires("SimbaNobodyContends"));
  order(a(), "contend");
  order(b(), "contend");
  ASSERT_TRUE(all_is_quiet());

  order(elsewhere(), "contend");
  EXPECT_TRUE(fires("SimbaTwoOwners"));
  EXPECT_THAT(firing(), ElementsAre("SimbaTwoOwners"));
  order(elsewhere(), "stop");
  EXPECT_TRUE(all_is_quiet());

  redis_->pause();
  EXPECT_TRUE(fires("SimbaRenewalsFail"));
  EXPECT_TRUE(fires("SimbaNobodyOwns"));
  redis_->resume();
  EXPECT_TRUE(all_is_quiet());

  // A hand-over is no reason to be woken.
  order(a(), "stop");
  ASSERT_TRUE(eventually([&] { return value_of(R"(simba_owner{instance="b"})") == 1; }));
  const double scrapes = value_of(R"(count_over_time(up{instance="b"}[1h]))");
  ASSERT_TRUE(eventually([&] {
    EXPECT_THAT(firing(), IsEmpty());
    return value_of(R"(count_over_time(up{instance="b"}[1h]))") >= scrapes + 8;
  }));
}

}  // namespace
