#include "simba/testkit/recording_retriever.hpp"

#include <utility>

namespace simba::testkit {

RecordingRetriever::RecordingRetriever(std::string mutex,
                                       std::function<void(const MutexState&)> hook)
    : mutex_{std::move(mutex)}, hook_{std::move(hook)} {}

void RecordingRetriever::notify_owner(const MutexState& state) {
  {
    const std::lock_guard lock{guard_};
    states_.push_back(state);
  }
  signal_.changed();
  if (hook_) {
    hook_(state);
  }
}

std::vector<MutexState> RecordingRetriever::states() const {
  const std::lock_guard lock{guard_};
  return states_;
}

std::vector<std::string> RecordingRetriever::owners() const {
  std::vector<std::string> owners;
  for (const auto& state : states()) {
    owners.push_back(state.after().owner_id());
  }
  return owners;
}

std::string RecordingRetriever::owner() const {
  const std::lock_guard lock{guard_};
  return states_.empty() ? std::string{} : states_.back().after().owner_id();
}

std::size_t RecordingRetriever::size() const {
  const std::lock_guard lock{guard_};
  return states_.size();
}

bool RecordingRetriever::wait_for_owner(const std::string& owner_id,
                                        std::chrono::milliseconds limit) const {
  return wait_until([&] { return owner() == owner_id; }, limit);
}

bool RecordingRetriever::wait_until(const std::function<bool()>& done,
                                    std::chrono::milliseconds limit) const {
  return signal_.wait(done, limit);
}

void RecordingRetriever::clear() {
  const std::lock_guard lock{guard_};
  states_.clear();
}

}  // namespace simba::testkit
