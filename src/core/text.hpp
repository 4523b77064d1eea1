#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// What every part does with text: show what came from elsewhere, and read numbers in it.
namespace simba::detail {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  ///< in bytes
};

/// The first code point of `text`, or nothing where the bytes are not well-formed UTF-8: overlong
/// forms, surrogates and values above U+10FFFF are not. `text` is not empty.
std::optional<CodePoint> first_code_point(std::string_view text) noexcept;

/// Text from elsewhere, such as a name in a store or a server's error, for a terminal or one line
/// of a log. Escaped are control characters (C0, DEL and C1), line and paragraph separators,
/// characters that change the direction in which text is displayed, and bytes that are not UTF-8:
/// ASCII and bytes as `\x1b`, others as `\u{202e}`. A backslash is left alone, so that printing
/// what has been printed changes nothing.
std::string printable(std::string_view text);

/// How much an excerpt shows unless told otherwise.
inline constexpr std::size_t longest_excerpt = 200;

/// `printable`, with "..." in place of what would make it longer than `longest` bytes.
std::string excerpt(std::string_view text, std::size_t longest = longest_excerpt);

/// Whatever is not an ASCII letter, a digit or in `plain` as %41.
std::string percent_encoded(std::string_view text, std::string_view plain = "-._~");

/// In seconds, e.g. "10s", "0.25s".
std::string seconds_text(std::chrono::nanoseconds span);

/// A host as it stands before a port: an IPv6 address in brackets.
std::string host_text(std::string_view host);

/// "host:6379", "[::1]:6379"
std::string host_text(std::string_view host, std::uint16_t port);

/// The whole of `text` as a number, without white space or "+"; nothing where it is none or out of
/// range.
template <std::integral Number>
std::optional<Number> parse_number(std::string_view text) noexcept {
  Number value{};
  // cppcheck-suppress invalidLifetime ; the text outlives the call
  const char* const end = text.data() + text.size();
  // cppcheck-suppress invalidLifetime ; as above
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// "10.11.19-MariaDB" as {10, 11, 19}. What is missing is 0.
std::array<unsigned, 3> parse_version(std::string_view text) noexcept;

/// How many characters must be inserted, removed, changed or swapped with the next to make one of
/// the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

inline constexpr std::uint64_t fnv1a_basis = 0xcbf29ce484222325;

/// The 64-bit FNV-1a hash of `text`, going on from `hash`.
std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = fnv1a_basis) noexcept;

}  // namespace simba::detail
