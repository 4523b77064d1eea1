#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "simba/client/election.hpp"
#include "simba/client/lock.hpp"
#include "simba/client/schedule.hpp"
#include "simba/client/watch.hpp"
#include "simba/core/credentials.hpp"
#include "simba/core/executor.hpp"
#include "simba/core/mutex_owner.hpp"
#include "simba/core/statistics.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba {

class MutexServiceFactory;
struct Runtime;

namespace config {
class Configuration;
}  // namespace config

struct ClientOptions {
  /// Runs all callbacks, the work of schedules, and the coroutines that await this client, but not
  /// stop callbacks on `lost()`, which come without delay on a thread of the runtime, nor
  /// `credentials`, which is called on a thread of the store. Empty: `Runtime::callbacks`, and
  /// `Runtime::workers` for the work of schedules.
  std::shared_ptr<Executor> executor{};

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
  CredentialsSource credentials{};           ///< see `config::Configuration::set_credentials`
};

/// The front door: locks, elections, schedules and observers on one store.
///
/// A handle that is cheap to copy; copies are the same client. Threads and connections belong to
/// the client, a fixed handful whatever the number of locks: no wait and no lock has a thread of
/// its own.
///
/// Threads: every function may be called from any thread at the same time.
/// Not guaranteed: that a lock is still held when the next line runs (see `Lock`), nor that waiters
/// get it in the order in which they asked.
/// Lifetime: when the last handle is gone the client is closed, see `close()`.
/// Errors: functions throw InvalidArgumentError for names and options that are out of bounds,
/// IllegalStateError if the client is closed or belongs to the parent of a forked process, and
/// Error if the store permanently rejects a request (wrong password, missing permission) or does
/// not support an option, or if the client cannot be opened. That somebody else holds a lock is not
/// an error.
class Client {
 public:
  /// `url` names the store, e.g. `redis://10.0.0.5`; docs/configuration.md lists all schemes.
  /// Neither opens a connection nor starts a thread: the first use does. Throws Error of kind
  /// `configuration` or `unsupported`. This constructor and the next are in simba::config.
  explicit Client(std::string_view url, ClientOptions options = {});
  explicit Client(const config::Configuration& configuration, ClientOptions options = {});

  /// On any store with leases, including one of your own. `factory` must be an
  /// `engine::LeaseServiceFactory`, else this throws Error of kind `unsupported`. The runtime is
  /// the factory's: `options.runtime` and `options.credentials` are ignored.
  explicit Client(std::shared_ptr<MutexServiceFactory> factory, ClientOptions options = {});

  // A move copies, so that a client that was moved from is still one.
  Client(const Client&) = default;
  Client& operator=(const Client&) = default;
  ~Client();

  /// Waits until the lock is held. Throws TimeoutError after `options.wait`, and CancelledError if
  /// `stop` is requested first.
  [[nodiscard]] Lock lock(std::string name, LockOptions options = {},
                          const std::stop_token& stop = {}) const;

  /// Asks the store once, or waits for `options.wait` if that is set. Throws Error if the store
  /// gives no definite answer to the one request.
  [[nodiscard]] LockResult try_lock(std::string name, LockOptions options = {},
                                    const std::stop_token& stop = {}) const;

  /// Takes several locks at once: all of them, or it throws as `lock` does and holds none. They are
  /// taken one after another in the order of their names, so that two such callers cannot deadlock,
  /// and returned in that order. `options.wait` is for all of them together, `options.max_hold` for
  /// each. Also throws InvalidArgumentError if a name is given twice, and Error of kind
  /// `unavailable` if one was lost while waiting for the others.
  [[nodiscard]] std::vector<Lock> lock_all(std::vector<std::string> names,
                                           const LockOptions& options = {},
                                           const std::stop_token& stop = {}) const;

  /// Takes part in an election from now on. Does not wait for the store.
  [[nodiscard]] Election elect(std::string name, ElectionOptions options) const;

  /// Does `work` whenever this process leads, e.g. `client.schedule("cleanup", cron("0 3 * * *"),
  /// ...)`. Does not wait for the store. Throws Error of kind `unsupported` if the schedule shares
  /// its slots and the store keeps no records.
  [[nodiscard]] Schedule schedule(std::string name, const ScheduleConfig& when, Work work,
                                  ScheduleOptions options = {}) const;

  /// The last runs of a schedule with shared slots, oldest first, including one that is under way,
  /// whichever process ran them. Blocks as `owner` does, and throws as `ScheduleRecords` does.
  [[nodiscard]] std::vector<RunReport> runs(const std::string& name) const;

  /// To pause, resume and trigger schedules with shared slots, of whichever process. Throws Error
  /// of kind `unsupported` if the store keeps no records. May outlive the client.
  [[nodiscard]] ScheduleRecords schedules() const;

  /// Follows the owner of a mutex, without contending. Does not wait for the store.
  [[nodiscard]] Watch watch(std::string name, Watch::Changed changed) const;

  /// Asks the store once who holds a mutex; `MutexOwner::none()` if nobody does. Throws Error if
  /// the store does not answer within the request timeout of its options.
  [[nodiscard]] MutexOwner owner(const std::string& name) const;

  /// What this client has done and how it is doing, and all others with the same runtime; see also
  /// simba/core/metrics_text.hpp.
  [[nodiscard]] Statistics statistics() const;

  /// Ends every wait for a lock with an error, including those of other threads; nothing more can
  /// be requested. Releases that the store has not confirmed yet are waited for, up to the release
  /// wait of its options; after that their leases expire. Locks that are held, elections, schedules
  /// and watches live on. May be called any number of times.
  void close() const noexcept;

 private:
  friend class detail::ClientCore;
  using MakeFactory = std::function<std::shared_ptr<MutexServiceFactory>(
      const std::shared_ptr<const Runtime>& runtime)>;

  Client(MakeFactory make, ClientOptions options);

  std::shared_ptr<detail::ClientCore> core_;  // never empty
};

}  // namespace simba
