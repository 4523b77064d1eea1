#include "soak/flatness.hpp"

#include <algorithm>
#include <cstddef>

namespace simba::soak {
namespace {

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<std::int64_t> between(const std::vector<Sample>& samples, double begin, double end) {
  std::vector<std::int64_t> values;
  for (const Sample& sample : samples) {
    if (sample.at >= begin && sample.at <= end) values.push_back(sample.value);
  }
  return values;
}

}  // namespace

Thirds thirds_of(const std::vector<Sample>& samples, double seconds) {
  const double warm = seconds / 6;
  const double third = (seconds - warm) / 3;
  const auto first = between(samples, warm, warm + third);
  const auto last = between(samples, seconds - third, seconds);
  if (first.empty() || last.empty()) return {};
  return {.first = median(first), .last = median(last), .known = true};
}

bool is_flat(const Thirds& thirds, const Growth& allowed) noexcept {
  return thirds.known &&
         thirds.last <= thirds.first + thirds.first * allowed.percent / 100 + allowed.more;
}

}  // namespace simba::soak
