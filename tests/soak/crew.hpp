#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "soak/options.hpp"
#include "support/processes/child_process.hpp"

namespace simba::soak {

/// The worker processes, a place each. Those of the core keep theirs to the end.
///
/// Threads: used by one thread, which lives as long as the workers.
class Crew {
 public:
  /// Starts all of them. `options` are those of the driver, with the ledger. What is left at the
  /// end is killed.
  explicit Crew(Options options);

  std::size_t size() const noexcept { return places_.size(); }
  bool is_core(std::size_t place) const noexcept { return place < options_.core(); }

  /// -1: nobody is there.
  pid_t process(std::size_t place) const {
    const auto& process = places_.at(place).process;
    return process ? process->id() : -1;
  }

  /// Kills this one, and starts another in its place.
  void kill(std::size_t place);

  /// Tells this one to stop, if it has not been told; another starts when it has.
  void stop(std::size_t place);

  /// Takes note of those that have ended. To be called often.
  void look_after();

  /// Tells all to stop and waits for it; what takes longer than `limit` is killed and is a fault.
  /// Returns early when `interrupted` is set; then some are left.
  void end(std::chrono::seconds limit, const std::atomic<bool>& interrupted);

  std::uint64_t kills() const noexcept { return kills_; }
  std::uint64_t stops() const noexcept { return stops_; }

  /// What workers did that they must not, a line each.
  const std::string& faults() const noexcept { return faults_; }

 private:
  struct Place {
    std::unique_ptr<support::ChildProcess> process{};  // null: nobody
    std::uint64_t life = 0;
    bool told = false;  // to stop
  };

  void start(std::size_t place);
  void ended(std::size_t place);

  const Options options_;
  std::vector<Place> places_;
  bool ending_ = false;
  std::uint64_t kills_ = 0;
  std::uint64_t stops_ = 0;
  std::string faults_;
};

}  // namespace simba::soak
