#include "simba/testkit/capturing_logger.hpp"

#include <algorithm>

namespace simba::testkit {

namespace {

std::string_view name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "?";
}

}  // namespace

bool CapturingLogger::enabled(LogLevel /*level*/) const noexcept { return true; }

void CapturingLogger::log(LogLevel level, std::string_view message) noexcept {
  const std::lock_guard lock{mutex_};
  lines_.push_back({level, std::string{message}});
}

std::vector<CapturingLogger::Line> CapturingLogger::lines() const {
  const std::lock_guard lock{mutex_};
  return lines_;
}

std::size_t CapturingLogger::count(LogLevel level) const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [&](const Line& l) { return l.level == level; }));
}

std::size_t CapturingLogger::count(std::string_view part) const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const Line& l) {
    return l.message.find(part) != std::string::npos;
  }));
}

std::string CapturingLogger::text() const {
  std::string text;
  for (const auto& line : lines()) {
    text.append(name_of(line.level)).append(": ").append(line.message).append("\n");
  }
  return text;
}

void CapturingLogger::clear() {
  const std::lock_guard lock{mutex_};
  lines_.clear();
}

}  // namespace simba::testkit
