#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "simba/schedule/slot_options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace simba::cli {

/// --promise and --max-attempts, of `run` and `schedule`.
class PromiseArguments {
 public:
  /// The object must live as long as `command`.
  void add_to(CLI::App& command, CLI::Option* excluded_by = nullptr);

  /// The first of them that was given; empty: none was.
  std::string_view given() const noexcept;

  /// Throws UsageError where they are wrong; their bounds are those of `SlotOptions::check`.
  void apply_to(SlotOptions& options) const;

 private:
  std::optional<std::string> promise_;
  std::optional<std::string> max_attempts_;
};

/// The other options of slots, of `schedule`.
class SlotArguments {
 public:
  /// `per_leader` excludes all of them. The object must live as long as `command`.
  void add_to(CLI::App& command, CLI::Option* per_leader);

  /// Throws UsageError where they are wrong; some bounds are those of `SlotOptions::check`.
  SlotOptions options() const;

 private:
  PromiseArguments promise_;
  std::string missed_ = "latest";
  std::string while_busy_ = "skip";
  std::optional<std::string> start_within_;
  std::string jitter_ = "0";
  std::string backfill_ = "0";
  std::optional<std::string> retry_pause_;
  std::optional<std::string> history_;
};

}  // namespace simba::cli
