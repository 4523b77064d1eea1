#pragma once

#include <string>
#include <utility>

namespace simba {

/// A password. It has no way into a stream, a log or a message but by `reveal()`, so that every
/// place that shows one can be found.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_{std::move(value)} {}

  bool empty() const noexcept { return value_.empty(); }

  /// The value itself, for the library that needs it. Never pass it to anything that prints.
  const std::string& reveal() const noexcept { return value_; }

 private:
  std::string value_;
};

}  // namespace simba
