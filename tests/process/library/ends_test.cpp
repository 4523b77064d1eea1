// The end of everything: what is left when the last object is gone, and objects that live until the
// program ends. On every store; those with a server find none where they look.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/config/make_factory.hpp"
#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/schedule/scheduler.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/free_ports.hpp"
#include "support/patience.hpp"
#include "support/temporary_folder.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

/// One of everything that a program has of a factory, in use.
class Objects {
 public:
  explicit Objects(const std::string& url)
      : factory_{make_factory(url)},
        service_{factory_->create_mutex_contend_service(contender_)},
        observes_{factory_->create_mutex_retrieval_service(retriever_)},
        scheduler_{"scheduled", *factory_, ScheduleConfig::delay(0s, 1ms),
                   [](const std::stop_token&) {}},
        locker_{"locked", *factory_} {
    service_->start();
    observes_->start();
    scheduler_.start();
    try {
      locker_.acquire(200ms);
    } catch (const Error&) {  // there is no server
    }
  }

 private:
  testkit::RecordingContender contender_{"contended", "a"};
  testkit::RecordingRetriever retriever_{"contended"};
  const std::unique_ptr<MutexServiceFactory> factory_;
  const std::unique_ptr<MutexContendService> service_;
  const std::unique_ptr<MutexRetrievalService> observes_;
  Scheduler scheduler_;
  SimbaLocker locker_;
};

class Ends : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      make_factory(url());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }

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

}  // namespace
}  // namespace simba
