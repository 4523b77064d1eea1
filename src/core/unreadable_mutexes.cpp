#include "core/unreadable_mutexes.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::detail {
namespace {

constexpr std::size_t most_reported = 10;

}  // namespace

void UnreadableMutexes::leave_out(const std::string& mutex, const Error& error) {
  if (reported_.size() > most_reported || !reported_.insert(mutex).second) return;
  log_->log(LogLevel::error,
            reported_.size() > most_reported
                ? std::string{"further mutexes cannot be read and are left out without a message"}
                : fmt::format("cannot read mutex \"{}\", which is left out: {}", excerpt(mutex),
                              error.what()));
}

bool UnreadableMutexes::concerns_one(const Error& error) noexcept {
  return !error.is_transient() && error.kind() != ErrorKind::authentication &&
         error.kind() != ErrorKind::permission && error.kind() != ErrorKind::unsupported;
}

}  // namespace simba::detail
