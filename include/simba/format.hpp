#pragma once

#include <concepts>
#include <string>
#include <version>
#ifdef __cpp_lib_format
#include <format>
#endif

#include "simba/client/election.hpp"
#include "simba/client/lock.hpp"
#include "simba/client/schedule.hpp"
#include "simba/core/error.hpp"
#include "simba/core/mutex_owner.hpp"
#include "simba/core/mutex_state.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/schedule/schedule_config.hpp"

/// Lets `std::format`, where the standard library has it, and fmt 10 or later print the values of
/// Simba, with the format specifications of text: `std::format("{:>20}", lock.loss().value())`.
/// A header of its own, since `<format>` takes long to compile. With an older fmt use
/// `fmt::streamed(value)`: all of them have `operator<<`.

namespace simba::redis {
struct Endpoint;
}  // namespace simba::redis

namespace simba {

/// The values that have text.
template <class T>
concept Printable = std::same_as<T, MutexOwner> || std::same_as<T, MutexState> ||
    std::same_as<T, ContentionOptions> || std::same_as<T, LockOptions> ||
    std::same_as<T, ScheduleConfig> || std::same_as<T, SlotOptions> ||
    std::same_as<T, TlsOptions> || std::same_as<T, TlsMode> || std::same_as<T, redis::Endpoint> ||
    std::same_as<T, Loss> || std::same_as<T, LockOutcome> || std::same_as<T, Health> ||
    std::same_as<T, ErrorKind>;

/// What fmt looks for.
template <Printable T>
std::string format_as(const T& value) {
  return std::string{to_string(value)};
}

namespace redis {
using simba::format_as;
}  // namespace redis

}  // namespace simba

#ifdef __cpp_lib_format
template <simba::Printable T>
struct std::formatter<T> : std::formatter<std::string> {
  auto format(const T& value, std::format_context& context) const {
    return std::formatter<std::string>::format(std::string{to_string(value)}, context);
  }
};
#endif
