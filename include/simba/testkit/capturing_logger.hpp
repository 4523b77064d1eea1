#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/log.hpp"

namespace simba::testkit {

/// A logger that keeps every line of every level, for tests.
///
/// Threads: every function may be called concurrently from any thread.
class CapturingLogger final : public Logger {
 public:
  struct Line {
    LogLevel level = LogLevel::debug;
    std::string message;
  };

  bool enabled(LogLevel level) const noexcept override;
  void log(LogLevel level, std::string_view message) noexcept override;

  /// All lines so far, oldest first.
  std::vector<Line> lines() const;

  /// How many lines have this level.
  std::size_t count(LogLevel level) const;

  /// How many lines contain `part`.
  std::size_t count(std::string_view part) const;

  bool contains(std::string_view part) const { return count(part) != 0; }

  /// All lines as one string, for the messages of failed tests.
  std::string text() const;

  void clear();

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;  // guarded by mutex_
};

}  // namespace simba::testkit
