// The end of everything: what is left when the last object is gone, and objects that live until the
// program ends. On every store; those with a server find none where they look, or lose it while
// they own.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/client/client.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/schedule/scheduler.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/free_ports.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

/// One of everything that a program has of a factory and of a client, in use. `patience` is what
/// the locker and the lock wait.
class Objects {
 public:
  explicit Objects(const std::string& url, std::chrono::milliseconds patience = 200ms)
      : factory_{make_factory(url)},
        service_{factory_->create_mutex_contend_service(contender_)},
        observes_{factory_->create_mutex_retrieval_service(retriever_)},
        scheduler_{"scheduled", *factory_, ScheduleConfig::delay(0s, 1ms),
                   [this](const std::stop_token&) { worked_ = true; }},
        locker_{"locked", *factory_},
        client_{url},
        election_{
            client_.elect("elected", {.on_elected = [this](const Leadership&) { led_ = true; },
                                      .on_deposed = [this](Loss) { led_ = false; }})},
        schedule_{client_.schedule("planned", every(10ms), [this](const Run&) { ran_ = true; })},
        watch_{client_.watch("elected", [this](const MutexOwner&) { seen_ = true; })} {
    service_->start();
    observes_->start();
    scheduler_.start();
    try {
      lock_ = client_.lock("held", {.wait = patience});
      locker_.acquire(patience);
    } catch (const Error&) {  // there is no server
    }
  }

  /// Whether each of them has what it is there for.
  bool all_own() const {
    return service_->is_owner() && worked_ && locker_.is_held() && lock_.held() && led_ && ran_ &&
           seen_;
  }

 private:
  std::atomic<bool> worked_ = false;
  std::atomic<bool> led_ = false;
  std::atomic<bool> ran_ = false;
  std::atomic<bool> seen_ = false;
  testkit::RecordingContender contender_{"contended", "a"};
  testkit::RecordingRetriever retriever_{"contended"};
  const std::unique_ptr<MutexServiceFactory> factory_;
  const std::unique_ptr<MutexContendService> service_;
  const std::unique_ptr<MutexRetrievalService> observes_;
  Scheduler scheduler_;
  SimbaLocker locker_;
  const Client client_;
  Lock lock_;
  const Election election_;
  const Schedule schedule_;
  const Watch watch_;
};

/// Skips the test where the store was left out of the build.
void look_for_store(const std::string& url) {
  try {
    make_factory(url);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
}

class Ends : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { look_for_store(url()); }

  std::string url() const {
    const std::string nowhere = "127.0.0.1:" + std::to_string(ports_[0]);
    if (GetParam() == "memory") return "memory:";
    if (GetParam() == "sqlite") return "sqlite:" + (folder_.path() / "simba.db").string();
    if (GetParam() == "postgresql") return "postgresql://app@" + nowhere + "/app";
    if (GetParam() == "mysql") return "mysql://app@" + nowhere + "/app";
    return GetParam() + "://" + nowhere;
  }

  const support::TemporaryFolder folder_;
  const support::FreePorts ports_{1};
};

TEST_P(Ends, NoThreadIsLeftWhenTheLastObjectIsGone) {
  const auto before = test::threads_named("");
  { const Objects objects{url()}; }
  // One that was joined leaves /proc a little later. The lease would last 16 s.
  EXPECT_TRUE(support::within(5s, [&] { return test::threads_named("") <= before; }));
}

TEST_P(Ends, ObjectsMayLiveUntilTheProgramEnds) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::alarm(60);
        static const Objects objects{url()};
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, Ends,
                         testing::Values("memory", "sqlite", "redis", "postgresql", "mysql",
                                         "zookeeper"),
                         [](const auto& store) { return store.param; });

/// A server of its own, which goes away while everything on it is owned.
class EndsAfterOwning : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override { look_for_store(url()); }

  const std::string& product() const { return std::get<0>(GetParam()); }

  std::string url() const {
    const auto& at = server_.location();
    const auto host = at.host + ":" + std::to_string(at.port);
    if (product() == "zookeeper") return "zookeeper://" + host;
    const auto user_at_host = at.user + ":" + at.password + "@" + host;
    if (product() == "redis") return "redis://" + user_at_host;
    const auto scheme = product() == "mariadb" ? "mysql" : product();
    return scheme + "://" + user_at_host + "/" + at.database;
  }

  void take_away() {
    if (std::get<1>(GetParam()) == "killed") {
      server_.kill();
    } else {
      server_.pause();
    }
  }

  support::Server server_{{.product = product()}};
};

TEST_P(EndsAfterOwning, NoThreadIsLeftWhenTheLastObjectIsGone) {
  const auto before = test::threads_named("");
  {
    const Objects objects{url(), 30s};
    ASSERT_TRUE(support::eventually([&] { return objects.all_own(); }));
    take_away();
  }
  EXPECT_TRUE(support::within(5s, [&] { return test::threads_named("") <= before; }))
      << test::threads_named("") << " threads, before " << before;
}

INSTANTIATE_TEST_SUITE_P(
    Servers, EndsAfterOwning,
    testing::Combine(testing::Values("redis", "postgresql", "mariadb", "zookeeper"),
                     testing::Values("killed", "silent")),
    [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace simba
