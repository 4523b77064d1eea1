#include "simba/core/ownership_signal.hpp"

namespace simba {

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
