#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "simba/core/error.hpp"
#include "simba/core/random.hpp"
#include "simba/core/time.hpp"

namespace simba::detail {

/// Keeps a server that cannot be reached from being asked for a connection repeatedly:
/// after each failure no attempt is made for a while, which doubles. A value without clock or
/// threads.
class ConnectGate {
 public:
  /// Each pause is up to half again as long, by `random`, so that processes that have lost a server
  /// at the same moment do not all come back at the same moments. Empty: as long as it is.
  explicit ConnectGate(std::shared_ptr<Random> random = {}) : random_{std::move(random)} {}

  /// Why no attempt may be made now; empty: one may.
  std::optional<Error> shut(LocalTime now) const { return now < open_at_ ? error_ : std::nullopt; }

  LocalTime opens_at() const noexcept { return open_at_; }

  /// Tells whether this is news: the first failure, or one of another kind or text.
  bool failed(const Error& error, LocalTime now);

  /// Tells whether this is news: it failed before.
  bool succeeded();

 private:
  std::shared_ptr<Random> random_;
  std::optional<Error> error_;
  LocalTime open_at_ = LocalTime::min();
  std::chrono::milliseconds pause_{0};
};

}  // namespace simba::detail
