#include "simba/testkit/recording_contender.hpp"

#include <algorithm>
#include <utility>

namespace simba::testkit {

/// Notes which thread is inside a call, to find calls that overlap.
class RecordingContender::Inside {
 public:
  explicit Inside(RecordingContender& contender) : contender_{contender} {
    const auto me = std::this_thread::get_id();
    const std::lock_guard lock{contender_.mutex_};
    auto& inside = contender_.inside_;
    if (std::any_of(inside.begin(), inside.end(), [&](auto id) { return id != me; })) {
      ++contender_.overlaps_;
    }
    inside.push_back(me);
  }

  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  ~Inside() {
    const std::lock_guard lock{contender_.mutex_};
    auto& inside = contender_.inside_;
    inside.erase(std::find(inside.begin(), inside.end(), std::this_thread::get_id()));
  }

 private:
  RecordingContender& contender_;
};

RecordingContender::RecordingContender(std::string mutex, RecordingHooks hooks)
    : AbstractMutexContender{std::move(mutex)}, hooks_{std::move(hooks)} {}

RecordingContender::RecordingContender(std::string mutex, std::string contender_id,
                                       RecordingHooks hooks)
    : AbstractMutexContender{std::move(mutex), std::move(contender_id)}, hooks_{std::move(hooks)} {}

void RecordingContender::on_acquired(const MutexState& state) {
  const Inside inside{*this};
  record({Call::Kind::acquired, state, std::nullopt, state.after().fencing_token()});
  if (hooks_.on_acquired) {
    hooks_.on_acquired(state);
  }
}

void RecordingContender::on_released(const MutexState& state) {
  const Inside inside{*this};
  record({Call::Kind::released, state, std::nullopt, state.before().fencing_token()});
  if (hooks_.on_released) {
    hooks_.on_released(state);
  }
}

void RecordingContender::on_event(const ContentionEvent& event) {
  const Inside inside{*this};
  const auto* lost = std::get_if<OwnershipLost>(&event);
  record({Call::Kind::event, MutexState::none(), event, lost != nullptr ? lost->fencing_token : 0});
  if (hooks_.on_event) {
    hooks_.on_event(event);
  }
}

void RecordingContender::notify_owner(const MutexState& state) {
  const Inside inside{*this};
  if (state.is_changed() && !state.is_acquired(contender_id()) &&
      !state.is_released(contender_id())) {
    record({Call::Kind::observed, state, std::nullopt, state.after().fencing_token()});
  }
  AbstractMutexContender::notify_owner(state);
}

void RecordingContender::record(Call call) {
  {
    const std::lock_guard lock{mutex_};
    calls_.push_back(std::move(call));
  }
  signal_.changed();
}

std::vector<RecordingContender::Call> RecordingContender::calls() const {
  const std::lock_guard lock{mutex_};
  return calls_;
}

std::size_t RecordingContender::count(Call::Kind kind) const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(
      std::count_if(calls_.begin(), calls_.end(), [&](const Call& c) { return c.kind == kind; }));
}

bool RecordingContender::holds() const {
  const std::lock_guard lock{mutex_};
  const auto last = std::find_if(calls_.rbegin(), calls_.rend(), [](const Call& c) {
    return c.kind == Call::Kind::acquired || c.kind == Call::Kind::released;
  });
  return last != calls_.rend() && last->kind == Call::Kind::acquired;
}

std::vector<FencingToken> RecordingContender::tokens() const {
  std::vector<FencingToken> tokens;
  for (const auto& call : calls()) {
    if (call.kind == Call::Kind::acquired) {
      tokens.push_back(call.token);
    }
  }
  return tokens;
}

std::vector<ContentionEvent> RecordingContender::events() const {
  std::vector<ContentionEvent> events;
  for (const auto& call : calls()) {
    if (call.event) {
      events.push_back(*call.event);
    }
  }
  return events;
}

std::vector<std::string> RecordingContender::owners() const {
  std::vector<std::string> owners;
  for (const auto& call : calls()) {
    if (call.kind != Call::Kind::event) {
      owners.push_back(call.state.after().owner_id());
    }
  }
  return owners;
}

bool RecordingContender::wait_for_acquisitions(std::size_t at_least,
                                               std::chrono::milliseconds limit) const {
  return wait_until([&] { return acquisitions() >= at_least; }, limit);
}

bool RecordingContender::wait_for_releases(std::size_t at_least,
                                           std::chrono::milliseconds limit) const {
  return wait_until([&] { return releases() >= at_least; }, limit);
}

bool RecordingContender::wait_until(const std::function<bool()>& done,
                                    std::chrono::milliseconds limit) const {
  return signal_.wait(done, limit);
}

void RecordingContender::clear() {
  const std::lock_guard lock{mutex_};
  calls_.clear();
}

}  // namespace simba::testkit
