#pragma once

#include <memory>
#include <string_view>

namespace simba {

enum class LogLevel { debug, info, warn, error };

/// Where Simba writes its log. Implement it to send the lines elsewhere.
///
/// Threads: both functions may be called from any thread at the same time; they must not block for
/// long and must not call back into Simba.
class Logger {
 public:
  virtual ~Logger() = default;

  /// False lets callers skip building the message.
  virtual bool enabled(LogLevel level) const noexcept = 0;

  /// Writes one line. Messages hold no passwords.
  virtual void log(LogLevel level, std::string_view message) noexcept = 0;
};

/// Writes through spdlog: to the logger registered there as "simba" if there is one, else to a
/// logger of that format on standard error at level info.
std::shared_ptr<Logger> make_default_logger();

/// Drops every line.
std::shared_ptr<Logger> make_null_logger();

}  // namespace simba
