#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "simba/core/contention_event.hpp"
#include "simba/core/time.hpp"

namespace simba {

/// What a contender does one after the other; each is a span of a trace.
enum class TraceStage {
  acquire,  ///< from beginning to wait to owning, or to giving up
  hold,     ///< from owning to giving the mutex up, or losing it
  release,  ///< from then, unless it was lost, until the store has confirmed; callbacks that end
            ///< with the ownership run first
};

/// E.g. "acquire".
std::string_view to_string(TraceStage stage) noexcept;

enum class TraceResult {
  done,      ///< it owns, has given up what it owned, or the store has confirmed that
  given_up,  ///< it did not wait any longer, or for the store to confirm
  lost,      ///< the ownership, without having given it up
};

/// E.g. "given up".
std::string_view to_string(TraceResult result) noexcept;

/// The beginning or the end of a stage.
struct TraceEvent {
  TraceStage stage = TraceStage::acquire;
  std::chrono::system_clock::time_point at{};  ///< by `Clock::wall_now`
  FencingToken fencing_token = 0;              ///< 0: none yet
  TraceResult result = TraceResult::done;      ///< of an end
  std::optional<LossReason> loss{};            ///< with `TraceResult::lost`
};

/// Follows one contender from its start to its stop, e.g. one lock of a client.
///
/// Threads: calls come one at a time and in order, on `Runtime::callbacks`, after what they tell of
/// has happened: so one that blocks holds up no lease, but takes one of those threads. Simba holds
/// no lock during a call.
/// Errors: an exception is logged; the calls go on.
/// Lifetime: destroyed on one of those threads, or with its contender.
class Trace {
 public:
  virtual ~Trace() = default;

  virtual void begins(const TraceEvent& event) = 0;
  virtual void ends(const TraceEvent& event) = 0;
};

/// Hooks for a tracing system such as OpenTelemetry; see `RuntimeOptions::tracer` and
/// examples/tracing.cpp.
///
/// Threads: called from any thread at the same time.
class Tracer {
 public:
  virtual ~Tracer() = default;

  /// A contender starts. Called inside the call that starts it (`lock`, `elect`, `start`), on its
  /// thread, so the span that is active there can be the parent of all that follows. It must not
  /// block. Null: this one is not traced. If it throws, that is logged, and this one is not traced.
  virtual std::unique_ptr<Trace> trace(const std::string& mutex,
                                       const std::string& contender_id) = 0;
};

}  // namespace simba
