#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/child/signals.hpp"
#include "cli/demo/candidate_process.hpp"
#include "cli/demo/view.hpp"

namespace simba::cli::demo {

/// A signal has come: the demonstration ends at once.
struct Interrupted {
  int signal = 0;
};

struct Succession {
  std::string leader{};
  LocalTime at{};
};

/// The candidates, and what we do to them. Follows who leads, and notes where two did at a time or
/// a fencing token did not grow.
///
/// All waits throw Interrupted, and Failure where nobody leads for too long.
///
/// Threads: used by one thread.
class Stage {
 public:
  Stage(StoreSetting setting, Signals& signals, View& view);

  /// Starts a candidate, or starts it again.
  void start(const std::string& name);

  /// Shows what happens for a while.
  void linger(std::chrono::milliseconds span);

  /// Waits until somebody leads, and says who.
  std::string await_leader();

  /// The same, but for somebody other than `name`, and when that was, by the candidate's own word.
  /// Empty: nobody came within `limit`.
  std::optional<Succession> await_successor(const std::string& name,
                                            std::chrono::milliseconds limit);

  /// Sends it a signal that makes it stop, die, freeze or go on, and returns the moment before.
  LocalTime send(const std::string& name, int signal);

  std::size_t leaders_seen() const noexcept { return leaders_seen_; }

  /// What must never happen and did, in words.
  const std::vector<std::string>& faults() const noexcept { return faults_; }

 private:
  struct Member {
    std::unique_ptr<CandidateProcess> process{};
    Role role = Role::follower;
    FencingToken token = 0;
    bool leads = false;        ///< has said so, and nothing else since
    LocalTime lead_at{};       ///< when
    LocalTime out_at = never;  ///< when we killed or froze it: after that it does not count
  };

  void pump(LocalTime until);
  void hear(const std::string& name, Member& member, const News& news);
  void check_lead(const std::string& name, const News& news);
  std::optional<std::string> leader() const;
  void show();

  // constant after construction
  const StoreSetting setting_;
  Signals& signals_;
  View& view_;

  std::map<std::string, Member> members_;
  FencingToken last_token_ = 0;
  std::size_t leaders_seen_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace simba::cli::demo
