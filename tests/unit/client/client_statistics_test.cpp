// What a client counts, and how metrics are written.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/client/client.hpp"
#include "simba/core/metrics_text.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testkit::Fault;

class ClientStatistics : public ::testing::Test {
 protected:
  // What is still to be given back is, or its lease ends: until then it keeps itself alive.
  ~ClientStatistics() override {
    store_->mend();
    world_.advance(2min);
  }

  MutexStatistics of(std::string_view mutex) const {
    for (const MutexStatistics& seen : client_.statistics().mutexes) {
      if (seen.mutex == mutex) return seen;
    }
    ADD_FAILURE() << "no statistics of " << mutex;
    return {};
  }

  RequestStatistics requests() const { return client_.statistics().requests; }

  testkit::ManualRuntime world_;
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  const Client client_{std::make_shared<engine::LeaseServiceFactory>(store_, world_.runtime())};
};

TEST_F(ClientStatistics, AnOwnerIsShownWithItsTokenAndItsLeaseUntilItGivesUp) {
  Lock lock = client_.lock("order");
  EXPECT_EQ(of("order").owners, 1U);
  EXPECT_EQ(of("order").fencing_token, lock.fencing_token());
  EXPECT_EQ(of("order").lease_left, lock.lease_left());
  EXPECT_EQ(of("order").acquisitions, 1U);
  EXPECT_EQ(of("order").waits.count(), 1U);
  world_.advance(2s);
  lock.unlock();
  world_.run_ready();
  MutexStatistics expected = of("order");
  EXPECT_EQ(expected.owners, 0U);
  EXPECT_EQ(expected.fencing_token, 0U);
  EXPECT_EQ(expected.lease_left, 0s);
  EXPECT_EQ(expected.holds.count(), 1U);
  EXPECT_EQ(expected.holds.total, 2s);
}

TEST_F(ClientStatistics, AWaiterIsShownForAsLongAsItWaits) {
  std::optional<Lock> lock = client_.lock("order");
  EXPECT_EQ(of("order").waiting, 0U);
  Election election = client_.elect("order", {});
  world_.advance(3s);
  EXPECT_EQ(of("order").waiting, 1U);
  EXPECT_EQ(of("order").waiting_for, 3s);
  lock.reset();
  ASSERT_TRUE(world_.run_until([&] { return election.is_leader(); }, 1min));
  EXPECT_EQ(of("order").waiting, 0U);
  EXPECT_EQ(of("order").waiting_for, 0s);
  EXPECT_EQ(of("order").acquisitions, 2U);
  EXPECT_GE(of("order").waits.total, 3s);
}

TEST_F(ClientStatistics, RenewalsAreCountedAndWhatEndsALease) {
  const Lock lock = client_.lock("order");
  world_.advance(1min);
  const std::uint64_t renewals = of("order").renewals;
  EXPECT_GT(renewals, 5U);
  EXPECT_EQ(of("order").failed_renewals, 0U);
  store_->cut();
  world_.advance(1min);
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(of("order").renewals, renewals);
  EXPECT_GT(of("order").failed_renewals, 0U);
  EXPECT_THAT(of("order").losses, ElementsAre(1U, 0U, 0U, 0U)) << "by reason: expired";
  EXPECT_EQ(of("order").owners, 0U);
}

TEST_F(ClientStatistics, AnswersAreTimedAndErrorsCountedByTheirKind) {
  EXPECT_FALSE(requests().silent_for);
  const Lock lock = client_.lock("order");
  EXPECT_EQ(requests().answered.at(static_cast<std::size_t>(RequestKind::acquire)).count(), 1U);
  EXPECT_EQ(requests().silent_for, 0s);
  store_->cut();
  world_.advance(10s);
  EXPECT_GT(requests().errors[ErrorKind::unavailable], 0U);
  EXPECT_EQ(requests().silent_for, 10s);
}

TEST_F(ClientStatistics, LooksAndRecordsAreRequestsToo) {
  static_cast<void>(client_.owner("order"));
  EXPECT_EQ(requests().answered.at(static_cast<std::size_t>(RequestKind::look)).count(), 1U);
  static_cast<void>(client_.runs("nightly"));
  EXPECT_EQ(requests().answered.at(static_cast<std::size_t>(RequestKind::read_record)).count(), 1U);
  store_->cut();
  EXPECT_THROW(static_cast<void>(client_.owner("order")), Error);
  EXPECT_EQ(requests().errors[ErrorKind::unavailable], 1U);
}

TEST_F(ClientStatistics, AHandOverIsTimedFromTheNewsOfTheRelease) {
  std::optional<Lock> lock = client_.lock("order");
  const Election election = client_.elect("order", {});
  world_.advance(3s);
  const LocalTime released_at = world_.clock().now();
  lock.reset();
  ASSERT_TRUE(world_.run_until([&] { return election.is_leader(); }, 1min));
  EXPECT_EQ(of("order").hand_overs.count(), 1U);
  EXPECT_LE(of("order").hand_overs.total, world_.clock().now() - released_at);
  EXPECT_EQ(of("order").take_overs.count(), 0U);
}

TEST_F(ClientStatistics, ATakeOverIsTimedFromTheEndOfTheLease) {
  const auto crashing = std::make_shared<testkit::FaultStore>(store_);
  const Client other{std::make_shared<engine::LeaseServiceFactory>(crashing, world_.runtime())};
  const Lock lock = other.lock("order");
  const Election election = client_.elect("order", {});
  world_.advance(3s);
  crashing->cut();
  ASSERT_TRUE(world_.run_until([&] { return election.is_leader(); }, 2min));
  EXPECT_EQ(of("order").take_overs.count(), 1U);
  EXPECT_LT(of("order").take_overs.total, 5s) << "the wait for the end of the lease does not count";
  EXPECT_EQ(of("order").hand_overs.count(), 0U);
  crashing->mend();
}

TEST_F(ClientStatistics, WhoeverOwnsItAgainWithNobodyInBetweenHasTakenItFromNobody) {
  for (int i = 0; i < 3; ++i) static_cast<void>(client_.lock("order"));
  world_.run_ready();
  EXPECT_EQ(of("order").acquisitions, 3U);
  EXPECT_EQ(of("order").hand_overs.count() + of("order").take_overs.count(), 0U);
}

TEST_F(ClientStatistics, AMutexIsAddedUnderANameThatMonitoringCanShow) {
  EXPECT_THROW(world_.runtime()->statistics->add("\xff"), InvalidArgumentError);
  EXPECT_THROW(world_.runtime()->statistics->add(" "), InvalidArgumentError);
}

TEST_F(ClientStatistics, MutexesBeyondTheLimitAreCountedTogether) {
  auto runtime = std::make_shared<Runtime>(*world_.runtime());
  runtime->statistics = std::make_shared<StatisticsRecorder>(runtime->clock, 2);
  runtime->statistics->add("known");
  const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime)};
  for (const char* name : {"a", "b", "c", "b"}) static_cast<void>(client.lock(name));
  world_.run_ready();
  const auto seen = client.statistics().mutexes;
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].mutex, "a");
  EXPECT_EQ(seen[1].mutex, "known");
  EXPECT_EQ(seen[1].acquisitions, 0U);
  EXPECT_EQ(seen[2].mutex, "");
  EXPECT_EQ(seen[2].acquisitions, 3U);
  EXPECT_THAT(metrics_text(client.statistics()),
              HasSubstr("\nsimba_acquisitions_total{mutex=\"a\"} 1\n"
                        "simba_acquisitions_total{mutex=\"known\"} 0\n"
                        "simba_acquisitions_total 3\n"));
}

TEST_F(ClientStatistics, MetricsShowAMutexFromTheMomentItIsContendedFor) {
  const Election election = client_.elect("leader", {});
  EXPECT_THAT(metrics_text(client_.statistics()),
              HasSubstr("\nsimba_losses_total{mutex=\"leader\",reason=\"expired\"} 0\n"));
}

TEST(MetricsText, NamesOfMutexesCannotBreakOutOfTheirLabel) {
  Statistics statistics;
  statistics.mutexes.push_back({.mutex = "a\"} 1\nfake_metric 7\\"});
  const std::string text = metrics_text(statistics);
  EXPECT_THAT(text, HasSubstr(R"(simba_owner{mutex="a\"} 1\nfake_metric 7\\"} 0)"));
  EXPECT_THAT(text, Not(HasSubstr("\nfake_metric")));
}

TEST(MetricsText, BucketsOfAHistogramCountWhatIsInThoseBefore) {
  Statistics statistics;
  MutexStatistics mutex{.mutex = "a"};
  mutex.waits.counts.front() = 2;
  mutex.waits.counts.back() = 1;
  mutex.waits.total = 1500ms;
  statistics.mutexes.push_back(mutex);
  const std::string text = metrics_text(statistics);
  for (const char* line :
       {"simba_wait_seconds_bucket{mutex=\"a\",le=\"0.001\"} 2\n",
        "simba_wait_seconds_bucket{mutex=\"a\",le=\"3600\"} 2\n",
        "simba_wait_seconds_bucket{mutex=\"a\",le=\"+Inf\"} 3\n",
        "simba_wait_seconds_sum{mutex=\"a\"} 1.5\n", "simba_wait_seconds_count{mutex=\"a\"} 3\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsText, TheFormatIsTheOneThatIsAskedForFirst) {
  EXPECT_EQ(accepted_format(""), MetricsFormat::prometheus);
  EXPECT_EQ(accepted_format("*/*"), MetricsFormat::prometheus);
  EXPECT_EQ(accepted_format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            MetricsFormat::openmetrics);
  EXPECT_EQ(accepted_format("text/plain;version=0.0.4, application/openmetrics-text;q=0.3"),
            MetricsFormat::prometheus);
  const std::string open = metrics_text({}, MetricsFormat::openmetrics);
  EXPECT_THAT(open, EndsWith("# EOF\n"));
  EXPECT_THAT(open, HasSubstr("# TYPE simba_delayed_callbacks counter\n"
                              "simba_delayed_callbacks_total 0\n"));
  EXPECT_THAT(metrics_text({}), HasSubstr("# TYPE simba_delayed_callbacks_total counter\n"
                                          "simba_delayed_callbacks_total 0\n"));
}

}  // namespace
}  // namespace simba
