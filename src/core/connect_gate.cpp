#include "core/connect_gate.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace simba::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{500};

/// After what does not pass by itself: wrong password, no permission.
constexpr milliseconds pause_when_refused{1'000};

}  // namespace

bool ConnectGate::failed(const Error& error, LocalTime now) {
  const bool news =
      !error_ || error_->kind() != error.kind() || std::string_view{error_->what()} != error.what();
  pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
  const std::chrono::nanoseconds pause = error.is_transient() ? pause_ : pause_when_refused;
  open_at_ = now + (random_ ? random_->between(pause, pause + pause / 2) : pause);
  error_ = error;
  return news;
}

bool ConnectGate::succeeded() {
  pause_ = milliseconds::zero();
  open_at_ = LocalTime::min();
  return std::exchange(error_, std::nullopt).has_value();
}

}  // namespace simba::detail
