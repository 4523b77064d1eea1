#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace simba::bench {

/// Prints measured figures beside their goals, and remembers whether one was missed.
class Figures {
 public:
  /// `measured` must not be more than `goal`.
  void at_most(const std::string& what, double measured, double goal, const std::string& unit) {
    const bool ok = measured <= goal;
    missed_ = missed_ || !ok;
    std::printf("figure: %s: goal <= %g %s, measured %.3g %s, %s\n", what.c_str(), goal,
                unit.c_str(), measured, unit.c_str(), ok ? "ok" : "MISSED");
    std::fflush(stdout);
  }

  /// `measured` must not be less than `goal`.
  void at_least(const std::string& what, double measured, double goal, const std::string& unit) {
    const bool ok = measured >= goal;
    missed_ = missed_ || !ok;
    std::printf("figure: %s: goal >= %g %s, measured %.3g %s, %s\n", what.c_str(), goal,
                unit.c_str(), measured, unit.c_str(), ok ? "ok" : "MISSED");
    std::fflush(stdout);
  }

  int exit_code() const { return missed_ ? EXIT_FAILURE : EXIT_SUCCESS; }

 private:
  bool missed_ = false;
};

/// The middle one: what other programs do on the machine moves it little.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace simba::bench
