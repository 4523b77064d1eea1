#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cli/health/service_manager.hpp"
#include "cli/output/output.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/time.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace simba::cli {

/// --listen, --token-file and --drain-probes.
class ProbeArguments {
 public:
  void add_to(CLI::App& app);

  const std::optional<std::string>& listen() const noexcept { return listen_; }
  const std::string& token_file() const noexcept { return token_file_; }

  /// Throws UsageError.
  std::chrono::milliseconds drain() const;

 private:
  std::optional<std::string> listen_;
  std::string token_file_;
  std::string drain_ = "0";
};

/// Tells those who ask what this process does with its mutex: load balancers and orchestrators over
/// HTTP, with --listen, and systemd.
///
///   waiting -> leading -> draining -> waiting
///
/// `/leader` is 200 while leading, and while the lease lasts, as the statistics know it.
///
/// Threads: made before any thread. Then every function may be called from any thread.
class Probes {
 public:
  /// Throws UsageError.
  explicit Probes(const ProbeArguments& arguments);
  ~Probes();
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  /// Begins to listen, before anything else is begun. Throws Error where that address is not to be
  /// had, and Failure where this build has no HTTP.
  void open(const std::string& mutex, const std::string& contender_id,
            const std::shared_ptr<const Runtime>& runtime, Output& output);

  /// It contends: systemd may go on with what waits for it.
  void contends();

  /// The store has told who owns the mutex.
  void answered(const std::string& owner);

  void leads();  ///< no effect after `ends`
  void follows();

  /// Leadership will be given up; `/leader` says so from the first call on.
  void drains();

  /// How long after `drains` the mutex may be released.
  std::chrono::milliseconds drain() const noexcept { return drain_; }

  /// When that is; the past where it neither leads nor drains.
  LocalTime drained_at() const;

  /// This process is about to end.
  void ends();

 private:
  struct State;

  const ProbeArguments& arguments_;
  const std::chrono::milliseconds drain_;
  const std::shared_ptr<State> state_;
};

/// Throws UsageError where the drain leaves nothing of --max-hold.
void check_drain(const Probes& probes, std::optional<std::chrono::milliseconds> max_hold);

}  // namespace simba::cli
