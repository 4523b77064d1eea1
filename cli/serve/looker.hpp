#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/serve/service.hpp"
#include "simba/config/configuration.hpp"
#include "simba/engine/store_admin.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba::cli::serve {

/// Looks at a store for as long as it lives, and tells a service what it sees: the mutexes as often
/// as its options say, but for no more than a fifth of the time, so that a large store is looked at
/// less often; their schedules in turn; what `simba doctor` finds once a minute. What that costs
/// the store does not depend on who looks at the page.
///
/// Threads: `release` may be called from any thread. It has two of its own.
class Looker {
 public:
  struct Options {
    std::chrono::milliseconds interval{500};
    std::optional<std::string> only{};  ///< this mutex alone
    bool must_exist = true;             ///< a store that is not there is an error
  };

  /// `records`: empty where the store keeps none.
  Looker(const config::Configuration& configuration, const std::shared_ptr<const Runtime>& runtime,
         std::optional<ScheduleRecords> records, Options options, Service& service);
  ~Looker();
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  /// The first look. An unreachable store is reported to the service; throws what does not pass by
  /// itself.
  void look_first();

  void start();

  /// Does it, and answers, on a thread of ours.
  void release(const Service::Release& wanted, std::function<void(Service::Released)> done);

 private:
  struct Task {
    Service::Release wanted{};
    std::function<void(Service::Released)> done{};
  };

  void look();
  void watch();
  void inquire();
  void read_schedules();
  void examine_store();
  Service::Released carry_out(const Service::Release& wanted);
  bool pause(std::chrono::milliseconds span);

  // constant after construction
  const config::Configuration configuration_;
  const Options options_;
  const std::optional<ScheduleRecords> records_;
  const std::unique_ptr<engine::StoreAdmin> admin_;     // used by the first thread
  const std::unique_ptr<engine::StoreAdmin> examiner_;  // used by the second
  const std::shared_ptr<Logger> log_;
  Service& service_;

  std::string last_read_{};                 // used by the second thread
  std::chrono::milliseconds look_time_{0};  // used by the first

  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  bool ending_ = false;
  std::vector<Task> tasks_{};

  std::thread watcher_;
  std::thread inquirer_;
};

}  // namespace simba::cli::serve
