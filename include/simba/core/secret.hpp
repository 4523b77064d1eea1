#pragma once

#include <string>
#include <utility>

namespace simba {

/// A password. It can be written to a stream, log or message only through `reveal()`, so that every
/// such place can be found.
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
