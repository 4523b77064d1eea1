// libsimba-clock-skew.so: for LD_PRELOAD. Shows a program clocks that are off, as the file says
// that the variable SIMBA_CLOCK_SKEW names (clock_line.hpp); it may be changed while the program
// runs.
//
// Waits until a moment of such a clock are translated, so that they end when the clock that the
// program sees has come there, as at the time of the call. Reads take no lock and no memory: some
// servers read the clock before they can give any.
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "chaos/faults/clock_line.hpp"
#include "chaos/raw_clock.hpp"

namespace {

using simba::chaos::ClockSkew;
using simba::chaos::raw_clock;

constexpr std::int64_t second = 1'000'000'000;

const ClockSkew* open_skew() noexcept {
  const char* const file = std::getenv("SIMBA_CLOCK_SKEW");
  const int descriptor = file != nullptr ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor == -1) {
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, sizeof(ClockSkew), PROT_READ, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  return memory == MAP_FAILED ? nullptr : static_cast<const ClockSkew*>(memory);
}

/// Null where nothing is off.
const ClockSkew* skew() noexcept {
  static std::atomic<bool> opened{false};
  static std::atomic<const ClockSkew*> found{nullptr};
  if (!opened.load()) {
    found.store(open_skew());  // twice at worst, which does no harm
    opened.store(true);
  }
  return found.load();
}

/// How far a clock is off that truly shows `now`. One reading serves both, so that no clock goes
/// back.
std::int64_t offset_of(clockid_t clock, std::int64_t now) noexcept {
  const auto* const lines = skew();
  if (lines == nullptr) {
    return 0;
  }
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return lines->wall.read().at(now);
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
      return lines->steady.read().at(now);
    case CLOCK_BOOTTIME:
      return lines->boot.read().at(now);
    default:  // those that count the time of a processor
      return 0;
  }
}

timespec to_timespec(std::int64_t nanoseconds) noexcept {
  nanoseconds = nanoseconds < 0 ? 0 : nanoseconds;
  return {.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

/// What the program is to see. False: there is no such clock.
bool show(clockid_t clock, timespec& result) noexcept {
  if (::syscall(SYS_clock_gettime, clock, &result) != 0) {
    return false;
  }
  const auto now = result.tv_sec * second + result.tv_nsec;
  result = to_timespec(now + offset_of(clock, now));
  return true;
}

/// The moment of the true clock at which the clock that is shown will have come to `moment`.
timespec translated(clockid_t clock, const timespec& moment) noexcept {
  return to_timespec(moment.tv_sec * second + moment.tv_nsec - offset_of(clock, raw_clock(clock)));
}

/// Which clock a moment is of: the machine has not been up for thirty years.
clockid_t clock_of(const timespec& moment) noexcept {
  return moment.tv_sec > 1'000'000'000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

/// Whether a sanitizer is in the program, which must see each wait: it lets go of a mutex.
bool is_sanitized() noexcept {
  return ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr ||
         ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
}

/// The next function of this name: the sanitizer's where there is one, else the C library's. Some
/// of its functions have older versions, which are not for programs of today.
template <class Function>
Function* real(const char* name, const char* version) noexcept {
  void* found = is_sanitized() ? nullptr : ::dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr) {
    found = ::dlsym(RTLD_NEXT, name);
  }
  return reinterpret_cast<Function*>(found);  // NOLINT(*-reinterpret-cast): the way of dlsym
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): names of our own
extern "C" {

int clock_gettime(clockid_t clock, timespec* result) noexcept {
  return show(clock, *result) ? 0 : -1;
}

int gettimeofday(timeval* result, void* /*zone*/) noexcept {
  timespec now{};
  show(CLOCK_REALTIME, now);
  *result = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1'000};
  return 0;
}

time_t time(time_t* result) noexcept {
  timespec now{};
  show(CLOCK_REALTIME, now);
  if (result != nullptr) {
    *result = now.tv_sec;
  }
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  static auto* const next =
      real<decltype(pthread_cond_timedwait)>("pthread_cond_timedwait", "GLIBC_2.3.2");
  const auto moment = translated(clock_of(*until), *until);
  return next(condition, mutex, &moment);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static auto* const next =
      real<decltype(pthread_cond_clockwait)>("pthread_cond_clockwait", "GLIBC_2.34");
  const auto moment = translated(clock, *until);
  return next(condition, mutex, clock, &moment);
}

int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static auto* const next = real<decltype(sem_timedwait)>("sem_timedwait", "GLIBC_2.34");
  const auto moment = translated(CLOCK_REALTIME, *until);
  return next(semaphore, &moment);
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
