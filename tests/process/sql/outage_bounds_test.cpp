#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/sql/products.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/safety.hpp"

namespace simba::support {

namespace {

using namespace std::chrono_literals;
using testkit::RecordingContender;
using testkit::ServedTime;

/// For what it does besides waiting.
constexpr auto slack = 300ms;

sql::SqlOptions bounded_lease() {
  sql::SqlOptions options;
  options.contention.ttl = 1'000ms;
  options.contention.transition = 500ms;
  return options;
}

/// One factory through a proxy that becomes a black hole, and what blocks in it. The server behind
/// it is not harmed: other tests use it, too.
class SqlOutageBounds : public testing::TestWithParam<SqlProduct> {
 protected:
  void SetUp() override {
    if (const auto why = GetParam().missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    location_ = GetParam().shared_location();
    proxy_ = std::make_unique<FaultProxy>(location_.host, location_.port);
    factory_ = factory(proxy_->port());
  }

  std::unique_ptr<MutexServiceFactory> factory(std::uint16_t port) const {
    return GetParam().make_factory(location_, port, bounded_lease());
  }

  /// A factory behind the proxy with one connection for requests, so that a fault of that
  /// connection strikes the next request.
  std::unique_ptr<MutexServiceFactory> factory_with_one_connection() const {
    auto options = bounded_lease();
    options.pool_size = 1;
    return GetParam().make_factory(location_, proxy_->port(), options);
  }

  /// Waits until the client is connected and has nothing to say.
  void wait_until_quiet() const {
    auto last = proxy_->counters();
    auto since = now();
    EXPECT_TRUE(eventually([&] {
      const auto current = proxy_->counters();
      if (current.requests != last.requests || current.open == 0) {
        last = current;
        since = now();
      }
      return now() > since + 100ms;
    }));
  }

  const std::chrono::nanoseconds stop_bound_ =
      simba::worst_cases(ContentionPlan{bounded_lease().contention}).stop;
  Location location_;
  const std::string mutex_ = mysql::test::unique("m");
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<MutexServiceFactory> factory_;
};

TEST_P(SqlOutageBounds, StopOfAnOwnerReturnsWithinItsBoundInABlackHole) {
  RecordingContender contender{mutex_};
  const auto service = factory_->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(eventually([&] { return service->is_owner(); }));

  proxy_->black_hole();
  const auto taken = ServedTime::taken_by([&] { service->stop(); });

  EXPECT_LE(taken, scaled(std::chrono::ceil<std::chrono::milliseconds>(stop_bound_) + slack));
  EXPECT_EQ(contender.releases(), 1U);
}

TEST_P(SqlOutageBounds, StopOfAWaiterReturnsWithinItsBoundInABlackHole) {
  SimbaLocker owner{mutex_, *factory_};
  owner.acquire(10s);
  RecordingContender contender{mutex_};
  const auto service = factory_->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(contender.wait_until([&] { return !contender.owners().empty(); }, scaled(10s)));

  proxy_->black_hole();
  const auto taken = ServedTime::taken_by([&] { service->stop(); });

  EXPECT_LE(taken, scaled(std::chrono::ceil<std::chrono::milliseconds>(stop_bound_) + slack));
}

TEST_P(SqlOutageBounds, StopReturnsWithinItsBoundWhenTheServerNeverAnswered) {
  proxy_->black_hole();
  RecordingContender contender{mutex_};
  const auto service = factory_->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(eventually([&] { return proxy_->counters().connections > 0; }));

  const auto taken = ServedTime::taken_by([&] { service->stop(); });

  EXPECT_LE(taken, scaled(std::chrono::ceil<std::chrono::milliseconds>(stop_bound_) + slack));
}

TEST_P(SqlOutageBounds, DestructorsDoNotHangInABlackHole) {
  RecordingContender contender{mutex_};
  auto service = factory_->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(eventually([&] { return service->is_owner(); }));
  RecordingContender waiter{mutex_};
  auto waiting = factory_->create_mutex_contend_service(waiter);
  waiting->start();

  proxy_->black_hole();
  const auto taken = ServedTime::taken_by([&] {
    service.reset();
    waiting.reset();
    factory_.reset();
  });

  EXPECT_LE(taken,
            scaled(std::chrono::ceil<std::chrono::milliseconds>(2 * stop_bound_) + 2 * slack));
}

TEST_P(SqlOutageBounds, DestructorsDoNotHangWhileTheServerIsPaused) {
  const auto server = GetParam().make_server();
  auto direct = GetParam().make_factory(server->location(), server->port(), bounded_lease());
  SimbaLocker locker{mutex_, *direct};
  locker.acquire(10s);

  server->pause();
  const auto taken = ServedTime::taken_by([&] {
    locker.close();
    direct.reset();
  });
  server->resume();

  EXPECT_LE(taken, scaled(std::chrono::ceil<std::chrono::milliseconds>(stop_bound_) + 2 * slack));
}

TEST_P(SqlOutageBounds, ABlackHoleOfOneFactoryDoesNotHoldUpAnother) {
  const auto other = factory(location_.port);
  SimbaLocker warm_up{mutex_ + "-other", *other};
  warm_up.acquire(10s);
  warm_up.close();
  RecordingContender contender{mutex_};
  const auto service = factory_->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(eventually([&] { return service->is_owner(); }));

  proxy_->black_hole();
  std::vector<std::chrono::milliseconds> spans;
  for (const auto begin = now(); now() < begin + 2s;) {
    spans.push_back(ServedTime::taken_by([&] {
      SimbaLocker locker{mutex_ + "-other", *other};
      locker.acquire(10s);
    }));
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_LE(spans.at(spans.size() / 2), scaled(500ms));

  EXPECT_TRUE(eventually([&] { return contender.releases() == 1; }));
}

TEST_P(SqlOutageBounds, AFactoryThatWasInABlackHoleWorksAgainWhenItIsMended) {
  RecordingContender contender{mutex_};
  const auto service = factory_->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(contender.wait_for_acquisitions(1, scaled(10s)));
  proxy_->black_hole();
  ASSERT_TRUE(contender.wait_for_releases(1, scaled(10s)));

  proxy_->mend();

  EXPECT_TRUE(support::within(2'500ms, [&] { return contender.acquisitions() == 2; }));
  const auto tokens = contender.tokens();
  ASSERT_GE(tokens.size(), 2U);
  EXPECT_TRUE(support::grows(tokens[0], tokens[1]));
  EXPECT_EQ(contender.overlaps(), 0U) << support::safety_violation;
}

TEST_P(SqlOutageBounds, ALostReplyToAnAcquireIsMadeUpForByAskingAgain) {
  const auto factory = factory_with_one_connection();
  SimbaLocker locker{mutex_, *factory};
  locker.acquire(10s);
  const auto token = locker.fencing_token();
  locker.close();

  wait_until_quiet();
  proxy_->cut_next_reply();
  const auto taken = ServedTime::taken_by([&] { locker.acquire(10s); });

  EXPECT_EQ(proxy_->counters().cuts, 1U);
  EXPECT_LE(taken, scaled(1s));
  EXPECT_TRUE(support::grows(token, locker.fencing_token()));
}

TEST_P(SqlOutageBounds, ALostReplyToAReleaseLeavesTheMutexFree) {
  const auto other = factory(location_.port);
  const auto factory = factory_with_one_connection();
  SimbaLocker locker{mutex_, *factory};
  locker.acquire(10s);

  wait_until_quiet();
  proxy_->cut_next_reply();
  locker.close();
  SimbaLocker next{mutex_, *other};
  const auto taken = ServedTime::taken_by([&] { next.acquire(10s); });

  EXPECT_TRUE(eventually([&] { return proxy_->counters().cuts == 1; }));
  EXPECT_LE(taken, scaled(1s));
  EXPECT_TRUE(support::grows(locker.fencing_token(), next.fencing_token()));
}

TEST_P(SqlOutageBounds, ALostReplyToARenewalDoesNotEndTheOwnership) {
  RecordingContender contender{mutex_};
  const auto factory = factory_with_one_connection();
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(eventually([&] { return service->is_owner(); }));

  const auto begin = now();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    wait_until_quiet();
    proxy_->cut_next_reply();
    ASSERT_TRUE(eventually([&] { return proxy_->counters().cuts == round; }));
  }
  ASSERT_TRUE(eventually([&] { return now() > begin + 2s; }));

  EXPECT_TRUE(service->is_owner());
  EXPECT_EQ(contender.acquisitions(), 1U);
  EXPECT_EQ(contender.releases(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Servers, SqlOutageBounds, testing::ValuesIn(sql_server_products()),
                         [](const auto& context) { return context.param.name; });

}  // namespace

}  // namespace simba::support
