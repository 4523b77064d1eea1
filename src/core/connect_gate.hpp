#pragma once

#include <chrono>
#include <optional>

#include "simba/core/error.hpp"
#include "simba/core/time.hpp"

namespace simba::detail {

/// Keeps a server that cannot be reached from being asked for a connection repeatedly:
/// after each failure no attempt is made for a while, which doubles. A value without clock or
/// threads.
class ConnectGate {
 public:
  /// Why no attempt may be made now; empty: one may.
  std::optional<Error> shut(LocalTime now) const { return now < open_at_ ? error_ : std::nullopt; }

  LocalTime opens_at() const noexcept { return open_at_; }

  /// Tells whether this is news: the first failure, or one of another kind or text.
  bool failed(const Error& error, LocalTime now);

  /// Tells whether this is news: it failed before.
  bool succeeded();

 private:
  std::optional<Error> error_;
  LocalTime open_at_ = LocalTime::min();
  std::chrono::milliseconds pause_{0};
};

}  // namespace simba::detail
