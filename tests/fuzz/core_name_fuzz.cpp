// Feeds texts to what checks the names of mutexes and contenders, and to what makes them fit to be
// shown.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.hpp"
#include "fuzz/support.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"

namespace simba {
namespace {

using fuzz::check;

/// The bytes of a code point.
std::string encoded(char32_t value) {
  const auto byte = [](char32_t bits) {
    return static_cast<char>(static_cast<unsigned char>(bits));
  };
  if (value < 0x80) return {byte(value)};
  if (value < 0x800) return {byte(0xC0 | value >> 6U), byte(0x80 | (value & 0x3F))};
  if (value < 0x10000) {
    return {byte(0xE0 | value >> 12U), byte(0x80 | (value >> 6U & 0x3F)),
            byte(0x80 | (value & 0x3F))};
  }
  return {byte(0xF0 | value >> 18U), byte(0x80 | (value >> 12U & 0x3F)),
          byte(0x80 | (value >> 6U & 0x3F)), byte(0x80 | (value & 0x3F))};
}

/// The number of code points; empty where the text is no UTF-8.
std::optional<std::size_t> length(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) {
    const auto c = detail::first_code_point(text);
    if (!c) return std::nullopt;
    check(c->size >= 1 && c->size <= 4 && c->size <= text.size(), "a code point is in its text");
    check(encoded(c->value) == text.substr(0, c->size), "a code point has one form only");
    text.remove_prefix(c->size);
  }
  return count;
}

/// Why the name is refused; empty: it is not. An exception other than InvalidArgumentError is a
/// find.
std::string refusal(std::string_view name, std::size_t limit) {
  try {
    check_name("name", name, limit);
    return {};
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
}

void check_shown(std::string_view text) {
  const std::string shown = detail::printable(text);
  check(length(shown).has_value(), "what is shown is UTF-8");
  check(fuzz::stays_on_its_line(shown), "what is shown has no control characters");
  for (const std::string_view bad : {"\u0085", "\u009b", "\u061c", "\u200e", "\u200f", "\u2028",
                                     "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    check(shown.find(bad) == std::string::npos, "nor what changes lines or their direction");
  }
  check(detail::printable(shown) == shown, "what is shown can be shown");
  const std::string cut = detail::excerpt(text, 20);
  check(cut.size() <= 23 && (cut == shown || cut.ends_with("...")), "an excerpt is short");
}

void run_core_name(std::string_view text) {
  check_shown(text);
  const auto count = length(text);
  for (const std::size_t limit : {std::size_t{3}, NameLimits{}.mutex, NameLimits{}.contender_id}) {
    const std::string why = refusal(text, limit);
    if (why.empty()) {
      check(count && *count > 0 && *count <= limit, "a name is UTF-8 of a length that is allowed");
      check(text.find('\0') == std::string_view::npos, "a name has no NUL");
      check(refusal(text, limit + 1).empty(), "a name fits a longer limit");
      check(*count == 0 || !refusal(text, *count - 1).empty(), "one too many is refused");
    } else {
      check(fuzz::stays_on_its_line(why), "a refusal is one line");
      check(length(why).has_value(), "a refusal is UTF-8");
      check(why.size() <= 500, "a refusal is short");
    }
  }
  // Before a letter, what is wrong with a text is wrong still, unless it was blank or empty.
  const bool sound = count && text.find('\0') == std::string_view::npos;
  check(refusal("x" + std::string{text}, text.size() + 1).empty() == sound,
        "a name that is not blank is refused for its bytes only");
}

}  // namespace
}  // namespace simba

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::run_core_name({reinterpret_cast<const char*>(data), size});
  return 0;
}
