#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/child/signals.hpp"
#include "cli/demo/view.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli::demo {

/// A signal has come: the demonstration ends at once.
struct Interrupted {
  int signal = 0;
};

/// The candidates of the demonstration, and what we do to them. Each is a `simba elect --json`,
/// started as a user would start it; all write to one pipe, so what we read is in the order in
/// which it happened. They are killed with this object, and by the kernel when we are gone.
///
/// Follows who leads, and notes if two did at the same time or a fencing token did not grow.
///
/// All waits throw Interrupted; Failure if nobody leads for too long, or if a candidate ends that
/// was not told to.
///
/// Threads: used by one thread.
class Election {
 public:
  /// `folder`: where the candidates run. `options`: those of each candidate besides its id. Throws
  /// std::system_error.
  Election(std::string folder, std::vector<std::string> options, Signals& signals, View& view);
  ~Election();
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  /// Starts a candidate, or starts it again. Throws std::system_error.
  void start(const std::string& name);

  /// Shows what happens for a while.
  void linger(std::chrono::milliseconds span);

  /// Waits until somebody leads, and says who.
  std::string await_leader();

  /// Waits until somebody other than `name` leads, and says when we heard of it. Empty: nobody came
  /// within `limit`.
  std::optional<LocalTime> await_successor(const std::string& name,
                                           std::chrono::milliseconds limit);

  /// Sends it a signal that makes it stop, die, freeze or go on, and returns the time before.
  LocalTime send(const std::string& name, int signal);

  std::size_t leaders_seen() const noexcept { return leaders_seen_; }

  /// What must never happen and did, in words.
  const std::vector<std::string>& faults() const noexcept { return faults_; }

 private:
  struct Candidate {
    pid_t pid = -1;
    bool running = false;
    Role role = Role::follower;
    FencingToken token = 0;
    bool leads = false;   ///< has said so, and nothing else since
    LocalTime lead_at{};  ///< when we heard of it
  };

  void pump(LocalTime until);
  void read_lines();
  void hear(std::string_view line);
  void hear_leader(const std::string& name, FencingToken token);
  void check_ended();
  void end(Candidate& candidate) noexcept;
  std::optional<std::string> leader() const;
  void show();

  // constant after construction
  const std::string folder_;
  const std::vector<std::string> options_;
  Signals& signals_;
  View& view_;
  const std::shared_ptr<const Clock> clock_ = make_system_clock();
  int lines_ = -1;   // our end of the pipe
  int output_ = -1;  // the candidates' end

  std::map<std::string, Candidate> candidates_;
  std::string pending_;     // the beginning of a line
  std::string last_error_;  // of a candidate, in its own words
  FencingToken last_token_ = 0;
  std::size_t leaders_seen_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace simba::cli::demo
