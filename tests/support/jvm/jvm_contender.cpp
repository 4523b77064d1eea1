#include "support/jvm/jvm_contender.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "support/whole_number.hpp"

namespace simba::support {

JvmContender::JvmContender(const Location& location, const std::string& mutex,
                           std::string contender_id)
    : JvmContender{location, mutex, std::move(contender_id), Settings{}} {}

// Debian's Python, which alone has Debian's module for Redis. Not the location's user, whose rights
// are for Simba's own commands.
JvmContender::JvmContender(const Location& location, const std::string& mutex,
                           std::string contender_id, const Settings& settings)
    : contender_id_{std::move(contender_id)},
      process_{{"/usr/bin/python3", "-I", SIMBA_TEST_JVM_CONTENDER, location.host,
                std::to_string(location.port), "admin", location.password, mutex, contender_id_,
                std::to_string(settings.ttl.count()),
                std::to_string(settings.transition.count())}} {
  if (said("ready").empty()) {
    throw std::runtime_error{
        fmt::format("the JVM stand-in does not start (it needs python3-redis); it has said:\n{}",
                    transcript())};
  }
}

LocalTime moment_of(std::string_view line) {
  const auto count = whole_number<std::int64_t>(line.substr(line.rfind(' ') + 1));
  if (!count) {
    throw std::invalid_argument{fmt::format("no moment in '{}'", line)};
  }
  return LocalTime{std::chrono::nanoseconds{*count}};
}

}  // namespace simba::support
