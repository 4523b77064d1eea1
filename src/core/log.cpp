#include "simba/core/log.hpp"

#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace simba {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

class SpdlogLogger final : public Logger {
 public:
  explicit SpdlogLogger(std::shared_ptr<spdlog::logger> logger) : logger_{std::move(logger)} {}

  bool enabled(LogLevel level) const noexcept override {
    return logger_->should_log(to_spdlog(level));
  }

  void log(LogLevel level, std::string_view message) noexcept override {
    try {
      logger_->log(to_spdlog(level), spdlog::string_view_t{message.data(), message.size()});
    } catch (...) {  // NOLINT(bugprone-empty-catch): there is nowhere left to report it
    }
  }

 private:
  const std::shared_ptr<spdlog::logger> logger_;
};

class NullLogger final : public Logger {
 public:
  bool enabled(LogLevel /*level*/) const noexcept override { return false; }
  void log(LogLevel /*level*/, std::string_view /*message*/) noexcept override {}
};

}  // namespace

std::shared_ptr<Logger> make_default_logger() {
  auto logger = spdlog::get("simba");
  if (!logger) {
    // Not registered, so that the name stays free for a logger of the user.
    logger = std::make_shared<spdlog::logger>(
        "simba", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_level(spdlog::level::info);
  }
  return std::make_shared<SpdlogLogger>(std::move(logger));
}

std::shared_ptr<Logger> make_null_logger() { return std::make_shared<NullLogger>(); }

}  // namespace simba
