#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "simba/client/health.hpp"
#include "simba/client/lock.hpp"
#include "simba/client/span.hpp"
#include "simba/core/time.hpp"

namespace simba {

/// What `on_elected` is told. A value that may be kept.
class Leadership {
 public:
  Leadership(FencingToken fencing_token, std::stop_token lost,
             std::function<std::chrono::nanoseconds()> lease_left = {})
      : fencing_token_{fencing_token}, lost_{std::move(lost)}, lease_left_{std::move(lease_left)} {}

  /// Grows with every change of leader and never repeats.
  [[nodiscard]] FencingToken fencing_token() const noexcept { return fencing_token_; }

  /// Fires when this leadership ends, for whatever reason, before anyone else can lead.
  [[nodiscard]] const std::stop_token& lost() const noexcept { return lost_; }

  /// How long nobody else can lead even if the lease is never renewed again. It is renewed while
  /// `on_deposed` runs, up to the drain limit. Zero after a loss and after the release.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const {
    return lease_left_ ? lease_left_() : std::chrono::nanoseconds::zero();
  }

 private:
  FencingToken fencing_token_;
  std::stop_token lost_;
  std::function<std::chrono::nanoseconds()> lease_left_;
};

/// How to take part in an election. Both functions run on the client's executor, one at a time, and
/// alternate, beginning with `on_elected`.
struct ElectionOptions {
  /// This process leads. May take as long as it likes. If it throws, the exception is logged and
  /// the leadership given up, as by `Election::step_down`.
  std::function<void(Leadership me)> on_elected{};

  /// It no longer leads. Called at every end of a leadership; `lost()` has fired before. Unless the
  /// leadership was lost, the mutex is still held while this runs, and released when it has
  /// returned. An exception is logged.
  std::function<void(Loss why)> on_deposed{};

  /// How long this process may lead before it steps down, as by `Election::step_down`. Not set: no
  /// limit.
  std::optional<Span> max_hold{};

  /// The contender id; see also `id_with_endpoint`. Empty: a globally unique one.
  std::string id{};

  /// The ttl of the leaderships, instead of that of the store's options; see `LockOptions::ttl`.
  std::optional<Span> ttl{};
};

/// Takes part in an election until this is stopped or destroyed. Move-only.
///
/// Not guaranteed: that this process still leads when the next line runs; see `Lock`.
///
/// Threads: every function may be called from any thread, also inside the callbacks.
/// Lifetime: owns the callbacks. None runs after `stop()` or the destructor has returned, with
/// three exceptions. A callback may itself stop or destroy the election. So may a stop callback of
/// `lost()`; the election then ends as soon as its callbacks have returned, since one of them may
/// be waiting for that stop callback. And a callback that does not return within the drain limit of
/// the store's options is no longer waited for. May outlive the client.
/// Errors: an object without an election (default-constructed, moved from) leads nothing, and its
/// health is `out`.
class [[nodiscard]] Election {
 public:
  Election() noexcept;
  ~Election();
  Election(Election&& other) noexcept;
  Election& operator=(Election&& other) noexcept;  ///< stops what it had
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  /// True while this process leads by the local deadline. Reads the clock.
  [[nodiscard]] bool is_leader() const noexcept;

  /// Fires when the present leadership ends. Already fired if this process does not lead.
  [[nodiscard]] std::stop_token lost() const;

  /// Of the present or the last leadership; 0 before the first.
  [[nodiscard]] FencingToken fencing_token() const noexcept;

  /// As `Leadership::lease_left`, of the present leadership; zero if there is none.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const noexcept;

  [[nodiscard]] Health health() const noexcept;

  /// The contender id.
  [[nodiscard]] const std::string& id() const noexcept;

  /// Gives up the leadership, if it has it: `lost()` fires, `on_deposed` runs, the mutex is
  /// released. Contends again after a ttl, so that others come first. Waits as `stop()` does.
  void step_down();

  /// Leaves the election. Waits for the callbacks, up to the drain limit, and for the store to
  /// confirm the release. May be called any number of times.
  void stop();

 private:
  friend class Client;
  class Impl;

  explicit Election(std::shared_ptr<Impl> impl) noexcept;

  void end() noexcept;

  std::shared_ptr<Impl> impl_;
};

}  // namespace simba
