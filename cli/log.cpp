#include "cli/log.hpp"

#include <string>
#include <unistd.h>

namespace simba::cli {
namespace {

class ErrorStreamLog final : public Logger {
 public:
  explicit ErrorStreamLog(LogLevel least) : least_{least} {}

  bool enabled(LogLevel level) const noexcept override { return level >= least_; }

  void log(LogLevel level, std::string_view message) noexcept override {
    if (!enabled(level)) return;
    try {
      std::string line{"simba: "};
      line += message;
      line += '\n';
      // One write a line, so that the lines of several processes do not mix.
      [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, line.data(), line.size());
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, no line
    }
  }

 private:
  const LogLevel least_;
};

LogLevel least_level(int verbosity, LogLevel quiet) noexcept {
  if (verbosity <= 0) return quiet;
  return verbosity == 1 ? LogLevel::info : LogLevel::debug;
}

}  // namespace

std::shared_ptr<Logger> make_log(int verbosity, LogLevel quiet) {
  return std::make_shared<ErrorStreamLog>(least_level(verbosity, quiet));
}

std::shared_ptr<const Runtime> make_command_runtime(int verbosity, LogLevel quiet) {
  return make_runtime(
      {.callback_threads = 1, .worker_threads = 1, .log = make_log(verbosity, quiet)});
}

}  // namespace simba::cli
