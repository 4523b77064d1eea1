#include "simba/core/ownership_signal.hpp"

namespace simba {
namespace {

/// The signals that this thread fires now, the innermost first: their callbacks may fire others.
struct Firing {
  const OwnershipSignal* signal;
  const Firing* outer;
};
thread_local const Firing* innermost = nullptr;

}  // namespace

void OwnershipSignal::begin(FencingToken fencing_token) {
  std::stop_source source;
  const std::lock_guard lock{mutex_};
  source_.swap(source);
  fencing_token_ = fencing_token;
}

std::stop_source OwnershipSignal::source() const {
  const std::lock_guard lock{mutex_};
  return source_;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): callbacks may end what holds the source
void OwnershipSignal::fire(std::stop_source source) const noexcept {
  const Firing firing{this, innermost};
  innermost = &firing;
  source.request_stop();
  innermost = firing.outer;
}

bool OwnershipSignal::firing_in_this_thread() const noexcept {
  const Firing* firing = innermost;
  while (firing != nullptr && firing->signal != this) firing = firing->outer;
  return firing != nullptr;
}

bool OwnershipSignal::any_firing_in_this_thread() noexcept { return innermost != nullptr; }

std::stop_token OwnershipSignal::token() const {
  std::stop_source source = this->source();
  if (!source.stop_possible()) {
    source = std::stop_source{};
    source.request_stop();
  }
  return source.get_token();
}

FencingToken OwnershipSignal::fencing_token() const noexcept {
  const std::lock_guard lock{mutex_};
  return fencing_token_;
}

}  // namespace simba
