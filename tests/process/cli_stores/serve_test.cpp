// simba serve on real stores.
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/served_page.hpp"
#include "process/cli/stores.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/testkit/recording_contender.hpp"

namespace {

using namespace simba::support;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string token = "the-token-of-the-tests";
const std::string bearer = "Authorization: Bearer " + token + "\r\n";

/// A contender of this process.
struct Contender {
  Contender(const std::string& url, const std::string& mutex, const std::string& id)
      : factory{simba::make_factory(url)},
        contender{mutex, id},
        service{factory->create_mutex_contend_service(contender)} {
    service->start();
  }
  ~Contender() { service->stop(); }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  std::unique_ptr<simba::MutexServiceFactory> factory;
  simba::testkit::RecordingContender contender;
  std::unique_ptr<simba::MutexContendService> service;
};

class CliServeAnyStore : public testing::TestWithParam<CliStore> {
 protected:
  std::string url() const { return GetParam().url(folder_.path(), {}); }

  std::string token_file() const {
    const auto path = folder_.path() / "token";
    std::ofstream{path} << token;
    ::chmod(path.c_str(), 0600);
    return path.string();
  }

  void SetUp() override { ASSERT_EQ(run_cli({"init", "-b", url()}).code, 0); }

 private:
  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, CliServeAnyStore, testing::ValuesIn(cli_stores()),
                         [](const auto& store) { return cli_store_name(store.param); });

TEST_P(CliServeAnyStore, ShowsWhoOwnsAndWhoWaitsAndReleasesByForce) {
  const std::string mutex = own_mutex("served");
  const ServedPage page{url(), {"--token-file", token_file(), "--allow-release"}};
  const bool session = GetParam().name == "ZooKeeper";
  const bool knows_waiting = session || GetParam().name == "Redis";
  const Contender ann{url(), mutex, "ann"};
  ASSERT_TRUE(ann.contender.wait_for_acquisitions(1, 20s));
  const Contender bob{url(), mutex, "bob"};
  const json owned = page.mutex(
      mutex,
      [&](const json& one) {
        return one.at("owner") == "ann" && (!knows_waiting || !one.at("waiting").empty());
      },
      bearer);
  EXPECT_EQ(owned.at("owner"), "ann");
  EXPECT_EQ(owned.at("session"), session);
  EXPECT_EQ(owned.at("lease_ends").is_null(), session);
  if (knows_waiting) {
    EXPECT_EQ(owned.at("waiting").at(0).at("id"), "bob");
  } else {
    EXPECT_TRUE(owned.at("waiting").is_null());
  }
  const auto released =
      page.post("/api/mutexes/" + mutex + "/release", R"({"owner":"ann"})", bearer);
  EXPECT_EQ(released.status, 200) << released.body;
  const json after = page.mutex(
      mutex, [](const json& one) { return one.at("owner") == "bob"; }, bearer);
  EXPECT_EQ(after.at("owner"), "bob");
}

TEST_P(CliServeAnyStore, ShowsWhatDoctorFindsAndSchedulesAndNeverThePassword) {
  const std::string mutex = own_mutex("scheduled");
  CliProgram schedule{{"schedule", "-b", url(), "-m", mutex, "--every", "1s", "--", "true"}};
  const ServedPage page{url()};
  const json scheduled = page.mutex(mutex, [](const json& one) {
    return !one.at("schedule").is_null() && one.at("schedule").at("last_outcome") == "succeeded";
  });
  EXPECT_EQ(scheduled.at("schedule").at("last_outcome"), "succeeded");
  EXPECT_FALSE(scheduled.at("schedule").at("next_slot").is_null());
  EXPECT_FALSE(scheduled.at("runs").empty());
  json health;
  EXPECT_TRUE(eventually([&] {
    health = page.get("/api/health").object();
    return !health.at("examined").is_null();
  }));
  EXPECT_EQ(health.at("reachable"), true);
  EXPECT_FALSE(health.at("server").get<std::string>().empty());
  if (!GetParam().has_password) return;
  const std::string with_password = url();
  const auto begin = with_password.find("//") + 2;
  const auto colon = with_password.find(':', begin) + 1;
  const std::string password = with_password.substr(colon, with_password.find('@') - colon);
  ASSERT_GT(password.size(), 3U);
  for (const char* path : {"/api/health", "/api/mutexes", "/api/session", "/api/changes"}) {
    EXPECT_THAT(page.get(path).body, Not(HasSubstr(password))) << path;
  }
}

}  // namespace
