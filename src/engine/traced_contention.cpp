#include "engine/traced_contention.hpp"

#include <exception>
#include <string_view>
#include <utility>
#include <variant>

namespace simba::engine {

namespace {

void log_trace_failure(const std::weak_ptr<Logger>& weak, const std::string& mutex,
                       std::string_view what) {
  const auto log = weak.lock();
  if (!log) return;
  log->log(LogLevel::error, "tracer, mutex [" + mutex + "]: threw: " + std::string{what} +
                                "; the exception is ignored");
}

/// Runs `call`, whatever it throws.
template <typename Function>
void guarded(const std::weak_ptr<Logger>& log, const std::string& mutex, const Function& call) {
  try {
    call();
  } catch (const std::exception& e) {
    log_trace_failure(log, mutex, e.what());
  } catch (...) {
    log_trace_failure(log, mutex, "unknown exception");
  }
}

}  // namespace

std::shared_ptr<TracedContention> TracedContention::begin(const Runtime& runtime,
                                                          const std::string& mutex,
                                                          const std::string& contender_id) {
  std::shared_ptr<TracedContention> traced;
  if (!runtime.tracer) return traced;
  guarded(runtime.log, mutex, [&] {
    auto trace = runtime.tracer->trace(mutex, contender_id);
    if (trace) traced = std::make_shared<TracedContention>(std::move(trace), runtime, mutex);
  });
  return traced;
}

TracedContention::TracedContention(std::unique_ptr<Trace> trace, const Runtime& runtime,
                                   std::string mutex)
    : trace_{std::move(trace)}, log_{runtime.log}, mutex_name_{std::move(mutex)} {}

void TracedContention::stepped(const Runtime& runtime, ContentionMachine::Phase phase,
                               const Actions& actions) noexcept {
  TraceEvent ended{.result = TraceResult::given_up};
  for (const ContentionEvent& event : actions.events) {
    const auto* const lost = std::get_if<OwnershipLost>(&event);
    if (lost == nullptr) continue;
    ended.result = TraceResult::lost;
    ended.loss = lost->reason;
  }
  const auto stage = stage_in(phase, ended.loss.has_value());
  if (stage == stage_) return;
  if (actions.granted) token_ = actions.granted->fencing_token;
  const bool confirmed = stage_ == TraceStage::release && actions.settled && actions.confirmed;
  const bool goes_on = stage == TraceStage::hold || stage == TraceStage::release;
  if (!ended.loss && (goes_on || confirmed)) ended.result = TraceResult::done;
  change(runtime, stage, ended);
}

void TracedContention::end(const Runtime& runtime) noexcept {
  change(runtime, std::nullopt, {.result = TraceResult::given_up});
}

/// After it has stopped waiting, or has lost what it owned, there is none.
std::optional<TraceStage> TracedContention::stage_in(ContentionMachine::Phase phase,
                                                     bool lost) const {
  using Phase = ContentionMachine::Phase;
  if (phase == Phase::contending) return TraceStage::acquire;
  if (phase == Phase::owning) return TraceStage::hold;
  const bool gives_back =
      phase == Phase::draining || phase == Phase::releasing || phase == Phase::expiring;
  const bool had = stage_ == TraceStage::hold || stage_ == TraceStage::release;
  if (gives_back && had && !lost) return TraceStage::release;
  return std::nullopt;
}

void TracedContention::change(const Runtime& runtime, std::optional<TraceStage> stage,
                              TraceEvent ended) noexcept {
  const auto before = std::exchange(stage_, stage);
  if (!before && !stage) return;
  ended.stage = before.value_or(TraceStage::acquire);
  ended.at = runtime.clock->wall_now();
  ended.fencing_token = token_;
  if (stage == TraceStage::acquire) token_ = 0;
  const TraceEvent begun{
      .stage = stage.value_or(TraceStage::acquire), .at = ended.at, .fencing_token = token_};
  try {
    if (queue(before ? &ended : nullptr, stage ? &begun : nullptr)) {
      runtime.callbacks->execute([self = shared_from_this()] { self->deliver(); });
    }
  } catch (...) {  // no memory, or no thread: with the next
    const std::lock_guard lock{mutex_};
    scheduled_ = false;
  }
}

/// Whether nobody is about to deliver it.
bool TracedContention::queue(const TraceEvent* ended, const TraceEvent* begun) {
  const std::lock_guard lock{mutex_};
  if (ended != nullptr) calls_.push_back({.event = *ended});
  if (begun != nullptr) calls_.push_back({.event = *begun, .begins = true});
  return !std::exchange(scheduled_, true);
}

void TracedContention::deliver() {
  std::unique_lock lock{mutex_};
  while (!calls_.empty()) {
    const Call call = calls_.front();
    calls_.pop_front();
    lock.unlock();
    guarded(log_, mutex_name_, [&] {
      if (call.begins) {
        trace_->begins(call.event);
      } else {
        trace_->ends(call.event);
      }
    });
    lock.lock();
  }
  scheduled_ = false;
}

}  // namespace simba::engine
