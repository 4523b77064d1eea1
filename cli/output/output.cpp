#include "cli/output/output.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/output/printable.hpp"

namespace simba::cli {
namespace {

bool may_draw_on(int file) {
  if (::isatty(file) != 1) return false;
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return terminal != nullptr && std::string_view{terminal} != "dumb";
}

bool no_colour() {
  const char* value = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value != nullptr && *value != '\0';
}

/// At once and unbuffered. Returns the error, or 0.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(file, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

void write_to_output(std::string_view text, std::atomic<int>& failure) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) failure = error;
}

/// Standard error. A line of level info is written as it is; any other is the queue's own.
class ErrorStream final : public Logger {
 public:
  explicit ErrorStream(Output::Form form) : form_{form} {}

  bool enabled(LogLevel /*level*/) const noexcept override { return true; }
  void log(LogLevel level, std::string_view line) override {
    if (level == LogLevel::info) {
      write_all(STDERR_FILENO, line);
    } else if (form_ == Output::Form::json) {
      write_all(STDERR_FILENO,
                to_line({{"event", "log"}, {"level", "warning"}, {"message", line}}) + "\n");
    } else {
      write_all(STDERR_FILENO, "simba: " + printable_lines(line) + "\n");
    }
  }

 private:
  const Output::Form form_;
};

/// Standard output. What the queue itself has to say is asked for at the end.
class ResultStream final : public Logger {
 public:
  explicit ResultStream(std::shared_ptr<std::atomic<int>> failure) : failure_{std::move(failure)} {}

  bool enabled(LogLevel /*level*/) const noexcept override { return true; }
  void log(LogLevel level, std::string_view line) override {
    if (level == LogLevel::info) write_to_output(line, *failure_);
  }

 private:
  const std::shared_ptr<std::atomic<int>> failure_;  // we may outlive the command's
};

int code_of(Colour colour) noexcept {
  switch (colour) {
    case Colour::bold:
      return 1;
    case Colour::dim:
      return 2;
    case Colour::red:
      return 31;
    case Colour::green:
      return 32;
    case Colour::yellow:
      return 33;
    case Colour::cyan:
      return 36;
    case Colour::plain:
      break;
  }
  return 0;
}

/// How long a line may take that comes before what others write. Longer, it is left to itself.
constexpr std::chrono::milliseconds usual_time{250};

/// How long results may take at the end.
constexpr std::chrono::milliseconds last_time{1'000};

}  // namespace

std::string to_line(const Json& object) {
  constexpr auto replace = Json::error_handler_t::replace;
  std::string line = object.dump(-1, ' ', false, replace);
  // What steers a terminal is escaped only where everything beyond ASCII is.
  return printable(line) == line ? line : object.dump(-1, ' ', true, replace);
}

std::string printable_lines(std::string_view text, std::string_view indent) {
  std::string shown;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (at > 0) (shown += '\n') += indent;
    shown += printable(text.substr(at, end - at));
    at = end + 1;
  }
  return shown;
}

Output::Output(Form form)
    : form_{form},
      live_{form == Form::text && may_draw_on(STDOUT_FILENO)},
      colours_{live_ && !no_colour()},
      live_notes_{form == Form::text && may_draw_on(STDERR_FILENO) && !no_colour()} {}

void Output::result(std::string_view text, const Json& object) {
  write_result((json() ? to_line(object) : std::string{text}) + "\n");
}

void Output::page(std::string_view text) { write_result(text); }

void Output::queue_results() {
  const std::lock_guard lock{results_mutex_};
  results_.queue = make_queued_logger(std::make_shared<ResultStream>(failure_), LogText::as_is);
}

void Output::write_result(std::string_view text) {
  const std::lock_guard lock{results_mutex_};
  if (results_.queue) {
    results_.write(text);
  } else {
    write_to_output(text, *failure_);
  }
}

std::string Output::finish() {
  const std::lock_guard lock{results_mutex_};
  const auto& queue = results_.queue;
  if (queue && (!queue->flush(last_time) || queue->dropped() > 0)) {
    return "standard output was blocked, so some results were not written; is its reader alive?";
  }
  if (!failed()) return {};
  return "cannot write to standard output: " + std::generic_category().message(*failure_) +
         "; is the disk full?";
}

void Output::note(std::string_view text, const Json& object) { write_note(text, object, "\n"); }

void Output::passing_note(std::string_view text, const Json& object) {
  write_note(text, object, live_notes_ ? "" : "\n");
}

void Output::end_passing_note() {
  const std::lock_guard lock{mutex_};
  if (std::exchange(replaceable_, false)) write_error("\r\033[K");
}

void Output::event(const Json& object) {
  if (json()) note({}, object);
}

void Output::error(std::string_view message, int exit_code) {
  note(message, {{"event", "error"}, {"message", message}, {"exit_code", exit_code}});
}

std::string Output::note_line(std::string_view text, const Json& object) const {
  return (json() ? to_line(object) : "simba: " + printable_lines(text)) + "\n";
}

void Output::write_note(std::string_view text, const Json& object, std::string_view end) {
  std::string line = note_line(text, object);
  if (end.empty()) line.pop_back();
  const std::lock_guard lock{mutex_};
  if (replaceable_) line.insert(0, "\r\033[K");
  replaceable_ = end.empty();
  write_error(line);
}

void Output::write_error(std::string_view text) {
  try {
    if (!errors_.queue) {
      errors_.queue = make_queued_logger(std::make_shared<ErrorStream>(form_), LogText::as_is);
    }
  } catch (const std::system_error&) {  // no thread: rather slowly than not at all
    write_all(STDERR_FILENO, text);
    return;
  }
  errors_.write(text);
}

void Output::Stream::write(std::string_view text) {
  if (stuck) stuck = !queue->flush(std::chrono::milliseconds{0});
  queue->log(LogLevel::info, text);
  if (!stuck) stuck = !queue->flush(usual_time);
}

std::string Palette::paint(Colour colour, std::string_view text) const {
  if (!on_ || colour == Colour::plain || text.empty()) return std::string{text};
  return fmt::format("\033[{}m{}\033[0m", code_of(colour), text);
}

}  // namespace simba::cli
