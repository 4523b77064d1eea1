#include "cli/output/log.hpp"

#include <atomic>
#include <string>
#include <unistd.h>

#include "cli/output/output.hpp"

namespace simba::cli {
namespace {

std::atomic<bool> as_objects = false;

std::string_view name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warning";
    case LogLevel::error:
      break;
  }
  return "error";
}

class ErrorStreamLog final : public Logger {
 public:
  explicit ErrorStreamLog(LogLevel least) : least_{least} {}

  bool enabled(LogLevel level) const noexcept override { return level >= least_; }

  void log(LogLevel level, std::string_view message) noexcept override {
    if (!enabled(level)) return;
    try {
      std::string line =
          as_objects ? to_line({{"event", "log"}, {"level", name_of(level)}, {"message", message}})
                     : "simba: " + printable_lines(message);
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

void log_objects() noexcept { as_objects = true; }

std::shared_ptr<Logger> make_log(int verbosity, LogLevel quiet) {
  return std::make_shared<ErrorStreamLog>(least_level(verbosity, quiet));
}

std::shared_ptr<const Runtime> make_command_runtime(int verbosity, LogLevel quiet) {
  return make_runtime(
      {.callback_threads = 1, .worker_threads = 1, .log = make_log(verbosity, quiet)});
}

}  // namespace simba::cli
