#pragma once

#include <chrono>

#include "simba/core/saturated.hpp"

namespace simba {

/// A length of time in an option: any `std::chrono` duration, or a time point of any clock, which
/// stands for the time from now until then. Rounded up to nanoseconds. What does not fit becomes
/// the largest or smallest value, so `std::chrono::hours::max()` is `forever`; "not a number"
/// becomes the smallest.
class Span {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `.wait = 10s`
  template <class Rep, class Period>
  constexpr Span(const std::chrono::duration<Rep, Period>& span)
      : value_{detail::saturated(span)} {}

  template <class Clock, class Duration>
  Span(const std::chrono::time_point<Clock, Duration>& until)
      : value_{detail::saturated(Real{until.time_since_epoch()} -
                                 Real{Clock::now().time_since_epoch()})} {}
  // NOLINTEND(google-explicit-constructor)

  constexpr std::chrono::nanoseconds nanoseconds() const noexcept { return value_; }
  constexpr bool is_forever() const noexcept { return value_ == std::chrono::nanoseconds::max(); }

  friend constexpr auto operator<=>(const Span&, const Span&) = default;

 private:
  using Real = std::chrono::duration<long double, std::nano>;

  std::chrono::nanoseconds value_;
};

/// Longer than any time that can pass.
inline constexpr Span forever{std::chrono::nanoseconds::max()};

}  // namespace simba
