#pragma once

#include <chrono>

namespace simba::detail {

/// Any duration in nanoseconds, rounded up. What does not fit becomes the largest or smallest
/// value; "not a number" becomes the smallest.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturated(const std::chrono::duration<Rep, Period>& span) {
  using std::chrono::nanoseconds;
  using Real = std::chrono::duration<long double, std::nano>;
  const Real real{span};
  if (real >= Real{nanoseconds::max()}) return nanoseconds::max();
  if (!(real > Real{nanoseconds::min()})) return nanoseconds::min();
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    return std::chrono::ceil<nanoseconds>(span);
  } else {
    return std::chrono::ceil<nanoseconds>(real);  // integers could overflow on the way
  }
}

}  // namespace simba::detail
