#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "simba/core/abstract_mutex_contend_service.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "unit/core/gate.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

/// The least that a store which fits no port has to write.
class TinyService final : public AbstractMutexContendService {
 public:
  TinyService(MutexContender& contender, std::shared_ptr<const Runtime> runtime,
              std::shared_ptr<Executor> executor = {}, std::chrono::nanoseconds drain_limit = 30s)
      : AbstractMutexContendService{contender, std::move(executor), std::move(runtime),
                                    drain_limit} {}
  ~TinyService() override { close(); }
  TinyService(const TinyService&) = delete;
  TinyService& operator=(const TinyService&) = delete;

  void owned_by(const std::string& id, FencingToken token = 1) {
    const LocalTime now = runtime()->clock->now();
    notify_owner(MutexOwner{id,
                            {},
                            {.acquired_at = now, .ttl_at = now + 10s, .transition_at = now + 16s},
                            token,
                            runtime()->clock});
  }

  void let_lease_run_out() override {}  // it keeps nothing that could run out

  bool fails_to_start = false;
  bool fails_to_stop = false;

 private:
  void start_contend() override {
    if (fails_to_start) throw Error{ErrorKind::unavailable, "no connection"};
    owned_by(contender_id());
  }
  void stop_contend() override {
    notify_owner(MutexOwner::none());
    if (fails_to_stop) throw Error{ErrorKind::unavailable, "no connection"};
  }
};

class AbstractServicesTest : public testing::Test {
 protected:
  testkit::ManualRuntime runtime_;
  testkit::RecordingContender contender_{"m", "me"};
  TinyService service_{contender_, runtime_.runtime()};
};

TEST_F(AbstractServicesTest, GoThroughTheirLifeAndTellTheContender) {
  EXPECT_EQ(service_.status(), ServiceStatus::initial);
  EXPECT_FALSE(is_active(service_.status()));
  service_.start();
  EXPECT_EQ(service_.status(), ServiceStatus::running);
  EXPECT_TRUE(is_active(service_.status()));
  runtime_.run_ready();
  EXPECT_EQ(contender_.acquisitions(), 1U);
  EXPECT_TRUE(service_.is_owner());
  EXPECT_TRUE(service_.is_in_ttl());
  EXPECT_EQ(service_.lease_left(), 16s);
  EXPECT_EQ(service_.fencing_token(), 1U);
  service_.stop();
  EXPECT_EQ(service_.lease_until(), LocalTime::min());
  EXPECT_EQ(service_.lease_left(), 0s);
  EXPECT_EQ(service_.status(), ServiceStatus::initial);
  EXPECT_EQ(contender_.releases(), 1U);
  EXPECT_FALSE(service_.is_owner());
}

/// Stops its service in on_acquired, and is not done after that.
class StopsInside final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;
  void on_acquired(const MutexState& /*state*/) override {
    service->stop();
    stopped.open();
    may_end.opens();
    ended = true;
  }
  void on_released(const MutexState& /*state*/) override {}

  TinyService* service = nullptr;
  test::Gate stopped;
  test::Gate may_end;
  std::atomic<bool> ended{false};
};

TEST(AbstractServices, CloseWaitsForACallbackThatHasStoppedItsOwnService) {
  StopsInside contender{"m", "me"};
  TinyService service{contender, make_runtime()};
  contender.service = &service;
  service.start();
  ASSERT_TRUE(contender.stopped.opens());
  EXPECT_EQ(service.status(), ServiceStatus::initial);
  auto closed = std::async(std::launch::async, [&] {
    service.close();
    return contender.ended.load();
  });
  EXPECT_EQ(closed.wait_for(20ms), std::future_status::timeout);
  contender.may_end.open();
  EXPECT_TRUE(closed.get());
}

TEST_F(AbstractServicesTest, OwnershipEndsByTheClockAlone) {
  service_.start();
  runtime_.clock().advance(10s);
  EXPECT_FALSE(service_.is_in_ttl());
  EXPECT_TRUE(service_.is_owner());
  runtime_.clock().advance(7s);
  EXPECT_FALSE(service_.is_owner());
}

TEST_F(AbstractServicesTest, FireTheLossSignalWhenAnotherOwns) {
  EXPECT_TRUE(service_.lost().stop_requested());
  service_.start();
  const std::stop_token lost = service_.lost();
  EXPECT_FALSE(lost.stop_requested());
  service_.owned_by("me");  // a renewal
  EXPECT_FALSE(lost.stop_requested());
  service_.owned_by("other", 2);
  EXPECT_TRUE(lost.stop_requested());
  service_.owned_by("me", 3);
  EXPECT_FALSE(service_.lost().stop_requested());
  EXPECT_EQ(service_.fencing_token(), 3U);
}

TEST_F(AbstractServicesTest, AFailedStartReturnsToInitialAndRethrows) {
  service_.fails_to_start = true;
  EXPECT_THROW(service_.start(), Error);
  EXPECT_EQ(service_.status(), ServiceStatus::initial);
  runtime_.run_ready();
  EXPECT_TRUE(contender_.calls().empty());
  service_.fails_to_start = false;
  service_.start();
  EXPECT_TRUE(service_.running());
}

TEST_F(AbstractServicesTest, AFailedStopIsStoppedAllTheSameAndRethrows) {
  service_.start();
  service_.fails_to_stop = true;
  EXPECT_THROW(service_.stop(), Error);
  EXPECT_EQ(service_.status(), ServiceStatus::initial);
  service_.start();
  service_.close();  // does not throw
  EXPECT_EQ(service_.status(), ServiceStatus::initial);
  EXPECT_TRUE(runtime_.log().contains("no connection"));
}

TEST(AbstractServicesThreads, StopGivesUpOnACallbackThatDoesNotReturnAndDropsTheRest) {
  RuntimeOptions options;
  options.log = make_null_logger();
  options.callback_threads = 1;
  options.max_callback_threads = 1;
  const auto runtime = make_runtime(options);
  test::Gate begun;
  test::Gate go_on;
  testkit::RecordingContender contender{"m", "me", {.on_acquired = [&](const MutexState&) {
                                          begun.open();
                                          go_on.opens();
                                        }}};
  TinyService service{contender, runtime, nullptr, 5ms};
  service.start();
  ASSERT_TRUE(begun.opens());
  service.stop();
  EXPECT_EQ(service.status(), ServiceStatus::initial);
  EXPECT_EQ(contender.releases(), 0U);
  go_on.open();
  test::Gate over;  // the only thread is done with the callback when it gets to this
  runtime->callbacks->execute([&] { over.open(); });
  EXPECT_TRUE(over.opens());
}

TEST(AbstractServicesThreads, CloseWaitsForAnotherThreadThatIsStopping) {
  RuntimeOptions options;
  options.log = make_null_logger();
  const auto runtime = make_runtime(options);
  std::promise<void> releasing;
  std::promise<void> go_on;
  const auto may_go_on = go_on.get_future().share();
  testkit::RecordingContender contender{"m", "me", {.on_released = [&](const MutexState&) {
                                          releasing.set_value();
                                          may_go_on.wait();
                                        }}};
  TinyService service{contender, runtime};
  service.start();
  std::jthread stopper{[&] { service.stop(); }};
  releasing.get_future().wait();
  EXPECT_EQ(service.status(), ServiceStatus::stopping);
  std::jthread second{[&] {
    service.stop();
    EXPECT_EQ(service.status(), ServiceStatus::initial);
  }};
  std::jthread releaser{[&] { go_on.set_value(); }};
  service.close();
  EXPECT_EQ(service.status(), ServiceStatus::initial);
}

TEST(AbstractServicesThreads, StopOnTheOnlyThreadOfTheExecutorDoesNotWaitForItself) {
  RuntimeOptions options;
  options.log = make_null_logger();
  options.callback_threads = 1;
  const auto runtime = make_runtime(options);
  testkit::RecordingContender contender{"m", "me"};
  TinyService service{contender, runtime};
  service.start();
  std::promise<void> stopped;
  runtime->callbacks->execute([&] {
    service.stop();
    stopped.set_value();
  });
  EXPECT_EQ(stopped.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(contender.acquisitions(), 1U);
  EXPECT_EQ(contender.releases(), 1U);
}

TEST(AbstractServicesFork, AForkedChildOwnsNothingAndTouchesNothing) {
  const auto runtime = make_runtime();
  testkit::RecordingContender contender{"m", "me"};
  auto service = std::make_unique<TinyService>(contender, runtime);
  service->start();
  ASSERT_TRUE(service->is_owner());
  const pid_t child = ::fork();
  if (child == 0) {
    int failed = 0;
    if (service->is_owner() || service->is_in_ttl() || service->lease_left() > 0s) failed |= 1;
    try {
      service->start();
      failed |= 2;
    } catch (const IllegalStateError&) {
      failed |= 0;
    }
    service->stop();
    service->close();
    if (!service->lost().stop_requested()) failed |= 4;
    service.reset();
    ::_exit(failed);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(service->is_owner());
}

}  // namespace
}  // namespace simba
