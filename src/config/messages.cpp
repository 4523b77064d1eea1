#include "config/messages.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

constexpr std::string_view hidden = "***";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// What stands before an '@' may be a user with a password; "://" may be missing in a URL that is
/// wrong.
std::string without_user(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::string{text};
  const std::size_t scheme = text.find("://");
  const std::size_t begin = scheme != std::string_view::npos && scheme < at ? scheme + 3 : 0;
  return fmt::format("{}{}{}", text.substr(0, begin), hidden, text.substr(at));
}

std::string without_passwords(std::string text) {
  constexpr std::string_view mark = "password=";
  const std::string lower = lower_case(text);
  const std::size_t begin = lower.find(mark);
  if (begin == std::string::npos) return text;
  return text.substr(0, begin + mark.size()) + std::string{hidden};
}

std::string plain(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (is_letter(c) || is_digit(c)) letters.push_back(to_lower(c));
  }
  return letters;
}

}  // namespace

void refuse(const std::string& message) { throw Error{ErrorKind::configuration, message}; }

void refuse(std::string_view origin, std::string_view message) {
  refuse(fmt::format("{}: {}", origin, message));
}

std::string lower_case(std::string_view text) {
  std::string lower{text};
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower;
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 80;
  return fmt::format("\"{}\"", detail::excerpt(without_passwords(without_user(text)), longest));
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest_word = 64;
  const std::string meant = plain(word);
  if (meant.empty() || meant.size() > longest_word) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = 4 * (meant.size() / 3 + 2);  // from here on it is another word
  for (const std::string& candidate : known) {
    const std::string letters = plain(candidate);
    const std::size_t distance = detail::edit_distance(meant, letters);
    if (letters.empty() || distance >= letters.size()) continue;
    // Among words that are as near, people get the ends right.
    const std::size_t score = 4 * distance + (letters.front() == meant.front() ? 0 : 1) +
                              (letters.back() == meant.back() ? 0 : 1);
    if (score < least) {
      least = score;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const auto best = nearest(word, known);
  return fmt::format("{} Allowed: {}", best ? fmt::format("; did you mean \"{}\"?", *best) : ".",
                     joined(known));
}

}  // namespace simba::config
