// A program with a sanitizer in it, to be run with libsimba-clock-skew.so loaded before all others:
// the sanitizer must see that a wait lets go of its mutex, or it reports what is no mistake.
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <thread>

namespace {

constexpr int times = 20;

/// Two threads take turns, both by waits of the C library and by those of C++.
struct Turns {
  pthread_mutex_t old_mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t old_condition = PTHREAD_COND_INITIALIZER;
  std::mutex mutex{};
  std::condition_variable condition{};
  int old_turn = 0;  // guarded by old_mutex
  int turn = 0;      // guarded by mutex
};

void wait_for_turn(Turns& turns, int own) {
  ::pthread_mutex_lock(&turns.old_mutex);
  while (turns.old_turn % 2 != own) {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    ++until.tv_sec;
    ::pthread_cond_timedwait(&turns.old_condition, &turns.old_mutex, &until);
  }
  ++turns.old_turn;
  ::pthread_cond_signal(&turns.old_condition);
  ::pthread_mutex_unlock(&turns.old_mutex);

  std::unique_lock lock{turns.mutex};
  turns.condition.wait_until(lock, std::chrono::steady_clock::now() + std::chrono::seconds{60},
                             [&] { return turns.turn % 2 == own; });
  ++turns.turn;
  turns.condition.notify_one();
}

}  // namespace

int main() {
  Turns turns;
  std::thread other{[&] {
    for (int i = 0; i < times; ++i) {
      wait_for_turn(turns, 1);
    }
  }};
  for (int i = 0; i < times; ++i) {
    wait_for_turn(turns, 0);
  }
  other.join();
  return turns.turn == 2 * times ? 0 : 1;
}
