#include "core/log_exception.hpp"

#include <exception>
#include <string>

namespace simba::detail {
namespace {

void log_line(Logger& log, std::string_view where, std::string_view what) noexcept {
  try {
    log.log(LogLevel::error, std::string{where}.append(": ").append(what));
  } catch (...) {
    log.log(LogLevel::error, where);  // no memory for the whole line
  }
}

}  // namespace

void log_current_exception(Logger& log, std::string_view where) noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    log_line(log, where, error.what());
  } catch (...) {
    log_line(log, where, "unknown exception");
  }
}

}  // namespace simba::detail
