#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/contention_machine.hpp"
#include "simba/core/runtime.hpp"
#include "simba/core/tracer.hpp"

namespace simba::engine {

/// Tells the `Trace` of a contender what its machine does, on the callback threads.
///
/// Threads: `stepped` and `end` must not overlap; calls of the trace never do.
/// Lifetime: shared with the task that it has on the callback threads. Holds no executor, which may
/// keep what it has not run.
class TracedContention : public std::enable_shared_from_this<TracedContention> {
 public:
  /// Asks the tracer of the runtime. Empty: there is none, or it does not want to know.
  static std::shared_ptr<TracedContention> begin(const Runtime& runtime, const std::string& mutex,
                                                 const std::string& contender_id);

  TracedContention(std::unique_ptr<Trace> trace, const Runtime& runtime, std::string mutex);

  /// After a step of the machine, which is in this phase now.
  void stepped(const Runtime& runtime, ContentionMachine::Phase phase,
               const Actions& actions) noexcept;

  /// The contender starts again, or is gone.
  void end(const Runtime& runtime) noexcept;

 private:
  struct Call {
    TraceEvent event;
    bool begins = false;
  };

  std::optional<TraceStage> stage_in(ContentionMachine::Phase phase, bool lost) const;
  void change(const Runtime& runtime, std::optional<TraceStage> stage, TraceEvent ended) noexcept;
  bool queue(const TraceEvent* ended, const TraceEvent* begun);
  void deliver();

  // constant after construction
  const std::unique_ptr<Trace> trace_;
  const std::weak_ptr<Logger> log_;
  const std::string mutex_name_;

  // touched by steps only
  std::optional<TraceStage> stage_;
  FencingToken token_ = 0;

  std::mutex mutex_;
  // guarded by mutex_
  std::deque<Call> calls_;
  bool scheduled_ = false;  // a thread makes the calls, or soon will
};

}  // namespace simba::engine
