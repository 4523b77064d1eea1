#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>

#include <gtest/gtest.h>

#include "chaos/faults/clock_line.hpp"
#include "chaos/raw_clock.hpp"
#include "chaos/shared_page.hpp"
#include "support/temporary_folder.hpp"

namespace simba::chaos {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t hour = 3'600 * second;

/// The library, called by its names instead of being loaded before all others. It looks for its
/// file once a process, so all tests share it.
class Library {
 public:
  static Library& instance() {
    static Library library;
    return library;
  }

  template <class Function>
  Function* get(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) throw std::runtime_error{name};
    return reinterpret_cast<Function*>(found);  // NOLINT(*-reinterpret-cast): the way of dlsym
  }

  std::int64_t now(clockid_t clock) const {
    timespec ts{};
    EXPECT_EQ(get<int(clockid_t, timespec*)>("clock_gettime")(clock, &ts), 0);
    return ts.tv_sec * second + ts.tv_nsec;
  }

  ClockSkew& clocks() { return *clocks_; }

 private:
  Library() {
    ::setenv("SIMBA_CLOCK_SKEW", (folder_.path() / "clocks").c_str(), 1);
    handle_ = ::dlopen(SIMBA_CHAOS_CLOCK_SKEW, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error{::dlerror()};
  }

  support::TemporaryFolder folder_;
  SharedPage<ClockSkew> clocks_{folder_.path() / "clocks"};
  void* handle_ = nullptr;
};

class ChaosClockSkew : public ::testing::Test {
 protected:
  ~ChaosClockSkew() override {
    library().clocks().wall.write({});
    library().clocks().steady.write({});
    library().clocks().boot.write({});
  }

  static Library& library() { return Library::instance(); }

  /// How far a clock is from the true one; more than it takes to read both is told.
  static std::int64_t offset(clockid_t clock) {
    const auto before = raw_clock(clock);
    const auto shown = library().now(clock);
    const auto after = raw_clock(clock);
    if (shown >= before && shown <= after) return 0;
    return shown < before ? shown - before : shown - after;
  }
};

TEST_F(ChaosClockSkew, ShowsTheTruthUntilItIsToldOtherwise) {
  for (const auto clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME}) {
    EXPECT_EQ(offset(clock), 0) << clock;
  }
}

TEST_F(ChaosClockSkew, StepsTheWallClockAloneForwardAndBack) {
  step_wall(library().clocks(), 3 * hour);
  EXPECT_NEAR(static_cast<double>(offset(CLOCK_REALTIME)), 3.0 * hour, second);
  EXPECT_EQ(offset(CLOCK_MONOTONIC), 0);
  EXPECT_EQ(offset(CLOCK_BOOTTIME), 0);

  step_wall(library().clocks(), -5 * hour);
  EXPECT_NEAR(static_cast<double>(offset(CLOCK_REALTIME)), -2.0 * hour, second);
}

TEST_F(ChaosClockSkew, ShowsTheSameWallClockByAllFunctions) {
  step_wall(library().clocks(), 3 * hour);
  const auto expected = raw_clock(CLOCK_REALTIME) + 3 * hour;
  timeval tv{};
  library().get<int(timeval*, void*)>("gettimeofday")(&tv, nullptr);
  EXPECT_NEAR(static_cast<double>(tv.tv_sec), static_cast<double>(expected / second), 2);
  const auto seconds = library().get<time_t(time_t*)>("time")(nullptr);
  EXPECT_NEAR(static_cast<double>(seconds), static_cast<double>(expected / second), 2);
}

TEST_F(ChaosClockSkew, RunsFastAndGoesOnFromThereAtTheRightRate) {
  auto& clocks = library().clocks();
  // As if it had begun ten seconds ago.
  clocks.boot.write({.base = raw_clock(CLOCK_BOOTTIME) - 10 * second, .offset = 0, .ppm = 10'000});
  EXPECT_NEAR(static_cast<double>(offset(CLOCK_BOOTTIME)), 0.1 * second, 0.01 * second);
  EXPECT_EQ(offset(CLOCK_MONOTONIC), 0);
  EXPECT_EQ(offset(CLOCK_REALTIME), 0);

  const auto before = library().now(CLOCK_BOOTTIME);
  set_steady_rate(clocks, 0);
  EXPECT_GE(library().now(CLOCK_BOOTTIME), before) << "it must not go back";
  const auto line = clocks.boot.read();
  EXPECT_EQ(line.at(line.base + 100 * second), line.offset);
}

TEST_F(ChaosClockSkew, NeverGoesBackWhileItsRateChanges) {
  std::int64_t last_boot = 0;
  std::int64_t last_steady = 0;
  for (int i = 0; i < 10'000; ++i) {
    set_steady_rate(library().clocks(), i % 2 == 0 ? 9'500 : -9'500);
    const auto boot = library().now(CLOCK_BOOTTIME);
    const auto steady = library().now(CLOCK_MONOTONIC);
    ASSERT_GE(boot, last_boot);
    ASSERT_GE(steady, last_steady);
    last_boot = boot;
    last_steady = steady;
  }
}

TEST_F(ChaosClockSkew, DoesNotOverflowInAMonth) {
  const std::int64_t month = 30LL * 24 * hour;
  const ClockLine line{.base = 0, .offset = 0, .ppm = -20'000};
  EXPECT_EQ(line.at(month), -(month / 50));
}

// A wait until a moment of a clock that is hours ahead must not take hours.
TEST_F(ChaosClockSkew, TranslatesMomentsThatAreWaitedFor) {
  step_wall(library().clocks(), 3 * hour);
  const auto until = library().now(CLOCK_REALTIME) + second / 20;
  const timespec moment{.tv_sec = until / second, .tv_nsec = until % second};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  ::pthread_mutex_lock(&mutex);
  const auto wait = library().get<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
      "pthread_cond_timedwait");
  const auto begin = raw_now();
  int result = 0;
  while (result == 0) result = wait(&condition, &mutex, &moment);
  ::pthread_mutex_unlock(&mutex);
  EXPECT_EQ(result, ETIMEDOUT);
  EXPECT_GE(raw_now() - begin, second / 25);
  EXPECT_LT(raw_now() - begin, 20 * second);
}

// As servers get it: loaded before all others, into a program that knows nothing of it.
TEST_F(ChaosClockSkew, ChangesAProgramThatKnowsNothingOfIt) {
  step_wall(library().clocks(), -7 * hour);
  const std::string command = "LD_PRELOAD=" SIMBA_CHAOS_CLOCK_SKEW " date +%s";
  FILE* const stream = ::popen(command.c_str(), "r");
  ASSERT_NE(stream, nullptr);
  std::array<char, 64> text{};
  ASSERT_NE(std::fgets(text.data(), text.size(), stream), nullptr);
  EXPECT_EQ(::pclose(stream), 0);
  EXPECT_NEAR(static_cast<double>(std::strtoll(text.data(), nullptr, 10)),
              static_cast<double>((raw_clock(CLOCK_REALTIME) - 7 * hour) / second), 30);
}

}  // namespace
}  // namespace simba::chaos
