// One of ours beside contenders of other libraries: interop.py says what it is asked and what it
// answers.
//
//   simba-interop-contender <url of the store> <mutex> <contender id> <milliseconds of a turn>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "simba/config/make_factory.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "support/patience.hpp"

namespace simba::interop {
namespace {

using namespace std::chrono_literals;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

std::int64_t moment() {
  return std::chrono::nanoseconds{support::now().time_since_epoch()}.count();
}

class Contender final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;

  /// Returns whether it was acquired before `stop` fired.
  bool wait(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    return changed_.wait(lock, stop, [&] { return acquired_; });
  }

  void forget() {
    const std::lock_guard lock{mutex_};
    acquired_ = false;
  }

  void on_acquired(const MutexState& /*state*/) override {
    say(fmt::format("acquired {}", moment()));
    {
      const std::lock_guard lock{mutex_};
      acquired_ = true;
    }
    changed_.notify_all();
  }

  void on_released(const MutexState& /*state*/) override {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool acquired_ = false;
};

/// Holds the mutex for one turn, and says as long as it owns it that it does. The moment is taken
/// before the question, so a pause in between does not make an owner of one that is none.
void hold(const MutexContendService& service, std::chrono::milliseconds turn) {
  std::mutex mutex;
  std::condition_variable_any never;
  const auto lost = service.lost();
  for (const auto end = support::now() + turn;;) {
    const auto now = support::now();
    const auto at = moment();
    if (!service.is_owner()) {
      say(fmt::format("lost {}", at));
      return;
    }
    if (now >= end) {
      say(fmt::format("releasing {}", at));
      return;
    }
    say(fmt::format("owns {}", at));
    std::unique_lock lock{mutex};
    never.wait_for(lock, lost, std::min<std::chrono::nanoseconds>(20ms, end - now),
                   [] { return false; });
  }
}

int run(const std::string& url, const std::string& mutex, const std::string& id,
        std::chrono::milliseconds turn) {
  std::stop_source stop;
  std::jthread orders{[&stop] {
    while (std::getchar() != EOF) {
    }
    stop.request_stop();
  }};
  const auto factory = make_factory(url);
  Contender contender{mutex, id};
  const auto service = factory->create_mutex_contend_service(contender);
  say("ready");
  while (!stop.stop_requested()) {
    contender.forget();
    service->start();
    if (contender.wait(stop.get_token())) {
      hold(*service, turn);
    }
    service->stop();
  }
  return 0;
}

}  // namespace
}  // namespace simba::interop

int main(int count, char** words) try {
  if (count != 5) {
    std::fputs("usage: simba-interop-contender <url> <mutex> <contender id> <milliseconds>\n",
               stderr);
    return 2;
  }
  return simba::interop::run(words[1], words[2], words[3],
                             std::chrono::milliseconds{std::stoi(words[4])});
} catch (const std::exception& error) {
  std::printf("error %s\n", error.what());
  return 3;
}
