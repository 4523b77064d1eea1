#include "redis/connection/credentials_calls.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/boot_clock.hpp"
#include "simba/core/time.hpp"

namespace simba::redis {

namespace {

using namespace std::chrono_literals;
using detail::BootClock;

constexpr auto longest_keep = 1min;
constexpr auto patience_at_end = 1s;

struct CallResult {
  CredentialsSource get;
  bool failed = false;
};

CallResult result_of(const CredentialsSource& source) {
  try {
    return {.get = [credentials = source()] { return credentials; }};
  } catch (...) {
    return {.get = [error = std::current_exception()]() -> Credentials {
              std::rethrow_exception(error);
            },
            .failed = true};
  }
}

}  // namespace

/// What a call under way needs, which may outlive the store.
struct CredentialsCalls::Shared {
  explicit Shared(CredentialsSource the_source) : source{std::move(the_source)} {}

  void call() {
    {
      const std::lock_guard lock{mutex};
      if (!calling) return;  // left behind where no thread could be started
    }
    const CallResult result = result_of(source);
    std::vector<std::shared_ptr<const Handler>> asked;
    {
      const std::lock_guard lock{mutex};
      calling = false;
      for (const auto& weak : waiting) {
        if (auto handler = weak.lock()) asked.push_back(std::move(handler));
      }
      waiting.clear();
      if (asked.empty() && !result.failed) {
        kept = std::make_unique<Kept>(Kept{result.get, BootClock::now() + longest_keep});
      }
    }
    for (const auto& handler : asked) (*handler)(result.get);
  }

  struct Kept {
    CredentialsSource result;
    LocalTime until;
  };

  const CredentialsSource source;

  std::mutex mutex{};
  // guarded by mutex
  bool calling = false;
  std::vector<std::weak_ptr<const Handler>> waiting{};
  std::unique_ptr<Kept> kept{};
};

CredentialsCalls::CredentialsCalls(CredentialsSource source, std::shared_ptr<Logger> log)
    : shared_{std::make_shared<Shared>(std::move(source))},
      thread_{"simba-login", "failed to pass on the result of a credentials callback",
              std::move(log)} {}

CredentialsCalls::~CredentialsCalls() { thread_.wait(patience_at_end); }

std::shared_ptr<const CredentialsCalls::Handler> CredentialsCalls::ask(Handler handler) {
  auto asked = std::make_shared<const Handler>(std::move(handler));
  std::unique_ptr<Shared::Kept> kept;
  {
    const std::lock_guard lock{shared_->mutex};
    kept.swap(shared_->kept);
    if (kept && BootClock::now() >= kept->until) kept.reset();
    if (!kept) {
      std::erase_if(shared_->waiting, [](const auto& weak) { return weak.expired(); });
      shared_->waiting.push_back(asked);
      if (std::exchange(shared_->calling, true)) return asked;
    }
  }
  if (kept) {
    (*asked)(kept->result);
    return asked;
  }
  try {
    thread_.post([shared = shared_] { shared->call(); });
  } catch (...) {
    const std::lock_guard lock{shared_->mutex};
    shared_->calling = false;
    shared_->waiting.clear();
    throw;
  }
  return asked;
}

}  // namespace simba::redis
