#include "core/text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace simba::detail {
namespace {

struct Lead {
  std::size_t size;
  char32_t bits;
  char32_t least;  // what needs this many bytes; less is overlong
};

std::optional<Lead> lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return Lead{1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return Lead{2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return Lead{3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return Lead{4, byte & 0x07U, 0x10000};
  return std::nullopt;
}

bool must_be_escaped(char32_t c) noexcept {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool line_end = c == 0x2028 || c == 0x2029;
  const bool direction = c == 0x061C || c == 0x200E || c == 0x200F ||
                         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || line_end || direction;
}

/// Takes the first character off `text` and returns it as it is shown.
std::string take_printable(std::string_view& text) {
  const auto c = first_code_point(text);
  const std::string_view bytes = text.substr(0, c ? c->size : 1);
  text.remove_prefix(bytes.size());
  if (c && !must_be_escaped(c->value)) return std::string{bytes};
  if (c && c->size > 1) return fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c->value));
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
}

bool is_alphanumeric(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::optional<CodePoint> first_code_point(std::string_view text) noexcept {
  const auto lead = lead_of(static_cast<unsigned char>(text.front()));
  if (!lead || text.size() < lead->size) return std::nullopt;
  char32_t value = lead->bits;
  for (const char next : text.substr(1, lead->size - 1)) {
    const auto byte = static_cast<unsigned char>(next);
    if ((byte & 0xC0U) != 0x80U) return std::nullopt;
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < lead->least || surrogate || value > 0x10FFFF) return std::nullopt;
  return CodePoint{value, lead->size};
}

std::string printable(std::string_view text) { return excerpt(text, std::string_view::npos); }

std::string excerpt(std::string_view text, std::size_t longest) {
  std::string shown;
  while (!text.empty()) {
    const std::string next = take_printable(text);
    if (next.size() > longest - shown.size()) return shown += "...";
    shown += next;
  }
  return shown;
}

std::string percent_encoded(std::string_view text, std::string_view plain) {
  std::string encoded;
  for (const char c : text) {
    if (is_alphanumeric(c) || plain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string host_text(std::string_view host) {
  const bool ipv6 = host.find(':') != std::string_view::npos;
  return ipv6 ? fmt::format("[{}]", host) : std::string{host};
}

std::string host_text(std::string_view host, std::uint16_t port) {
  return fmt::format("{}:{}", host_text(host), port);
}

std::array<unsigned, 3> parse_version(std::string_view text) noexcept {
  std::array<unsigned, 3> version{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (unsigned& part : version) {
    const auto [stop, error] = std::from_chars(at, end, part);
    if (error != std::errc{} || stop == end || *stop != '.') break;
    at = stop + 1;
  }
  return version;
}

std::string seconds_text(std::chrono::nanoseconds span) {
  return fmt::format("{}s", std::chrono::duration<double>{span}.count());
}

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(other.size() + 1);
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t i = 0; i <= other.size(); ++i) row[i] = i;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    before = above;
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t change = above[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      const bool swapped =
          i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[other.size()];
}

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) noexcept {
  constexpr std::uint64_t prime = 0x100000001b3;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

}  // namespace simba::detail
