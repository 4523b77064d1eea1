#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace simba::support {

/// The number that the text is, all of it; empty: it is none from `least` to `most`.
template <class T>
std::optional<T> whole_number(std::string_view text, T least = std::numeric_limits<T>::min(),
                              T most = std::numeric_limits<T>::max()) {
  T value{};
  const auto* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

}  // namespace simba::support
