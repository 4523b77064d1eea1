#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chaos/faults/clock_line.hpp"
#include "chaos/faults/detour_table.hpp"
#include "chaos/round_files.hpp"
#include "chaos/servers/servers.hpp"
#include "chaos/shared_page.hpp"
#include "support/processes/child_process.hpp"
#include "support/proxy/fault_proxy.hpp"

namespace simba::chaos {

/// The contenders' processes of a round, each with proxies and clocks of its own. Those of the JVM
/// library have the lanes after ours. They see the true clocks, which they do not count by.
///
/// Threads: used by one thread at a time.
class Crew {
 public:
  struct Settings {
    RoundFiles files;
    std::filesystem::path libraries;     ///< the folder of libsimba-clock-skew.so and its like
    std::string url;                     ///< with the servers' own ports
    bool clock_of_hosts = false;         ///< as Store::clock_of_hosts
    std::vector<std::uint16_t> ports{};  ///< of the servers, which each reaches by a proxy
    int size = 5;
    std::uint64_t seed = 1;
    int jvm = 0;  ///< contenders of the JVM library beside them
    /// See Servers::jvm_command.
    std::function<std::vector<std::string>(const JvmContender&)> jvm_command{};
  };

  /// Starts all of them.
  explicit Crew(Settings settings);

  /// With those of the JVM library.
  int size() const noexcept { return settings_.size + settings_.jvm; }

  std::string name(int lane) const { return Incarnation::lane_name(lane, is_jvm(lane)); }

  /// The lane that was seen to own the mutex in the last moments; empty: none.
  std::optional<int> owner(std::size_t mutex) const;

  /// The lane that was seen in a run of the schedule in the last moments; empty: none.
  std::optional<int> runner(std::size_t schedule) const;

  /// Whether a run of the schedule has begun after `moment`.
  bool begun_since(std::size_t schedule, std::int64_t moment) const;

  /// Whether somebody was seen to own the mutex after `moment`.
  bool owned_since(std::size_t mutex, std::int64_t moment) const;

  /// One that has ended by itself before is told by `end()`.
  void kill(int lane);

  /// A new process in the place of one that was killed.
  void start(int lane);

  /// Returns when it stands still.
  void pause(int lane);
  void resume(int lane);

  /// Whether the process may be writing to a file while no other one may, as SQLite does.
  bool holds_file_lock(int lane);

  /// All ways of the process to the servers.
  std::vector<support::FaultProxy*> ways(int lane);

  ClockSkew& clocks(int lane) { return *at(lane).clocks; }

  /// Those that have used none of their ways yet, a text each. At the end there must be none.
  std::vector<std::string> strays() const;

  /// Those whose process has ended by itself, which it must not.
  std::vector<std::string> dead();

  /// Ends all of them in order. Returns what went wrong from the beginning on, a text each.
  std::vector<std::string> end();

  /// All processes that there were.
  const std::vector<Incarnation>& incarnations() const noexcept { return incarnations_; }

 private:
  struct Member {
    explicit Member(const RoundFiles& files, int lane)
        : clocks{files.clocks(Incarnation{lane, 0}.name())}, detours{files.detours(lane)} {}

    SharedPage<ClockSkew> clocks;
    SharedPage<DetourTable> detours;
    std::vector<std::unique_ptr<support::FaultProxy>> proxies{};
    std::unique_ptr<support::ChildProcess> process{};
    Incarnation which{};
  };

  bool is_jvm(int lane) const noexcept { return lane >= settings_.size; }
  std::unique_ptr<support::ChildProcess> launch(const Incarnation& which) const;
  std::unique_ptr<support::ChildProcess> launch_jvm(const Incarnation& which) const;

  Member& at(int lane) { return *members_.at(static_cast<std::size_t>(lane)); }

  const Settings settings_;
  const SharedPage<Status> status_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Incarnation> incarnations_;
  std::vector<std::string> wrong_;
};

/// Kills a process that must be running. Empty: it was; else what is wrong.
std::string kill_running(support::ChildProcess& process, const std::string& name);

}  // namespace simba::chaos
