#include "support/ownership/lock_holder.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "simba/locker/simba_locker.hpp"
#include "support/patience.hpp"

namespace simba::support {

namespace {

/// Long enough for others to get the mutex.
constexpr std::chrono::milliseconds rest{50};

/// From an acquisition to its end.
void hold_once(const std::string& name, const SimbaLocker& locker, OwnershipLedger& ledger,
               const std::function<std::chrono::milliseconds()>& hold,
               const std::stop_token& stop) {
  const auto acquired = now();
  std::optional<std::size_t> number;
  while (!stop.stop_requested() && now() < acquired + hold()) {
    // The moment first, the question second: held then, so held at that moment too.
    const auto moment = now();
    if (!locker.is_held()) {
      return;
    }
    if (number) {
      ledger.extend(*number, moment);
    } else {
      number = ledger.begin(name, locker.fencing_token(), moment);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace

LockHolder::LockHolder(std::string name, std::string mutex, MutexContendServiceFactory& factory,
                       OwnershipLedger& ledger, std::function<std::chrono::milliseconds()> hold)
    : thread_{[name = std::move(name), mutex = std::move(mutex), &factory, &ledger,
               hold = std::move(hold)](const std::stop_token& stop) {
        try {
          SimbaLocker locker{mutex, factory};
          while (locker.try_acquire(stop)) {
            hold_once(name, locker, ledger, hold, stop);
            locker.close();
            std::this_thread::sleep_for(rest);
          }
        } catch (const std::exception& error) {
          ledger.report(name + " has given up: " + error.what());
        }
      }} {}

}  // namespace simba::support
