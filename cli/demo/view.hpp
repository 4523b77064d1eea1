#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "cli/output/output.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli::demo {

enum class Role {
  follower,
  leader,
  stopping,  ///< told to stop
  stopped,
  killed,
  frozen,
};

/// "follower", "LEADER", ...
std::string_view to_string(Role role) noexcept;

/// A candidate as it is shown.
struct CandidateState {
  std::string name{};
  pid_t pid = 0;
  Role role = Role::follower;
  FencingToken token = 0;  ///< zero: never led
};

/// Shows the demonstration: on a terminal what has happened and below it, redrawn, how the
/// candidates are; else only lines of what has happened; objects with --json.
///
/// Threads: used by one thread.
class View {
 public:
  explicit View(Output& output);

  /// Something has happened.
  void tell(std::string_view text, const Json& object);

  /// How the candidates are.
  void show(const std::vector<CandidateState>& candidates);

  /// Leaves the last picture where it is.
  void finish() { drawn_lines_ = 0; }

  const Palette& palette() const noexcept { return palette_; }

 private:
  std::string picture() const;
  std::string erased() const;
  void print(const std::string& lines, const Json& object);

  Output& output_;
  const Palette palette_;
  const bool draws_;
  const std::shared_ptr<const Clock> clock_ = make_system_clock();
  const LocalTime begin_ = clock_->now();
  std::vector<CandidateState> candidates_;
  std::size_t drawn_lines_ = 0;
  std::string drawn_;
};

}  // namespace simba::cli::demo
