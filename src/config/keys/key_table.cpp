#include "config/keys/key_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "core/host_list.hpp"
#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view file_suffix = "-file";
constexpr std::string_view variable_suffix = "-env";

void check_no_nul(const std::string& value) {
  if (value.find('\0') != std::string::npos) refuse("the value contains a NUL character");
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '/';
}

/// Replaces whole words only.
void replace_words(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    const std::size_t end = at + word.size();
    const bool whole =
        (at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : 1;
  }
}

std::string in_snake_case(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string or_nothing(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

std::string_view to_string(KeyKind kind) noexcept {
  switch (kind) {
    case KeyKind::duration:
      return "duration";
    case KeyKind::signed_duration:
      return "duration, may be negative";
    case KeyKind::integer:
      return "whole number";
    case KeyKind::text:
      return "text";
    case KeyKind::secret:
      return "secret";
    case KeyKind::choice:
      return "choice";
    case KeyKind::toggle:
      return "true or false";
    case KeyKind::path:
      return "path";
    case KeyKind::hosts:
      return "hosts";
  }
  return "text";
}

bool parse_toggle(std::string_view text) {
  const std::string lower = lower_case(text);
  if (lower == "true" || lower == "yes" || lower == "on" || lower == "1") return true;
  if (lower == "false" || lower == "no" || lower == "off" || lower == "0") return false;
  refuse(fmt::format("{} is neither true nor false; allowed: true, yes, on, 1, false, no, off, 0",
                     shown(text)));
}

void KeyTable::add(KeyText text, KeyKind kind, std::string allowed,
                   std::function<void(const std::string&)> set) {
  keys_.push_back(Key{.text = std::move(text),
                      .kind = kind,
                      .group = group_,
                      .allowed = std::move(allowed),
                      .set = [set = std::move(set)](const std::string& value,
                                                    WithoutUnit /*numbers*/) { set(value); }});
}

void KeyTable::add_duration(KeyText text, KeyKind kind,
                            std::function<void(const std::string&, WithoutUnit)> set) {
  keys_.push_back(
      Key{.text = std::move(text), .kind = kind, .group = group_, .set = std::move(set)});
}

void KeyTable::duration(KeyText text, milliseconds& target) {
  if (text.fallback.empty()) text.fallback = to_text(target);
  add_duration(std::move(text), KeyKind::duration,
               [&target](const std::string& value, WithoutUnit numbers) {
                 target = parse_duration(value, numbers);
               });
}

void KeyTable::duration(KeyText text, std::optional<milliseconds>& target) {
  add_duration(std::move(text), KeyKind::duration,
               [&target](const std::string& value, WithoutUnit numbers) {
                 target = parse_duration(value, numbers);
               });
}

void KeyTable::signed_duration(KeyText text, milliseconds& target) {
  if (text.fallback.empty()) text.fallback = to_text(target);
  add_duration(std::move(text), KeyKind::signed_duration,
               [&target](const std::string& value, WithoutUnit numbers) {
                 target = parse_signed_duration(value, numbers);
               });
}

void KeyTable::text(KeyText text, std::string& target) {
  if (text.fallback.empty()) text.fallback = or_nothing(target);
  add(std::move(text), KeyKind::text, {}, [&target](const std::string& value) {
    check_no_nul(value);
    target = value;
  });
}

void KeyTable::host(KeyText text, std::string& target) {
  if (text.fallback.empty()) text.fallback = or_nothing(target);
  add(std::move(text), KeyKind::text, {}, [&target](const std::string& value) {
    check_no_nul(value);
    // It will be shown, so a password must not get in.
    if (value.find('@') != std::string::npos) {
      refuse("a host must not contain '@'; user and password have their own keys");
    }
    target = value;
  });
}

void KeyTable::secret(KeyText text, Secret& target) {
  if (text.fallback.empty()) text.fallback = "none";
  add(std::move(text), KeyKind::secret, {}, [&target](const std::string& value) {
    check_no_nul(value);
    target = Secret{value};
  });
}

void KeyTable::toggle(KeyText text, std::function<void(bool)> set) {
  add(std::move(text), KeyKind::toggle, {},
      [set = std::move(set)](const std::string& value) { set(parse_toggle(value)); });
}

void KeyTable::path(KeyText text, std::filesystem::path& target) {
  if (text.fallback.empty()) text.fallback = or_nothing(target.string());
  add(std::move(text), KeyKind::path, {}, [&target](const std::string& value) {
    check_no_nul(value);
    target = value;
  });
}

void KeyTable::path(KeyText text, std::string& target) {
  if (text.fallback.empty()) text.fallback = or_nothing(target);
  add(std::move(text), KeyKind::path, {}, [&target](const std::string& value) {
    check_no_nul(value);
    target = value;
  });
}

void KeyTable::hosts(KeyText text, std::vector<detail::HostPort>& target) {
  add(std::move(text), KeyKind::hosts, {}, [&target](const std::string& value) {
    try {
      target = detail::parse_hosts(value);
    } catch (const Error& error) {
      refuse(fmt::format("{}: {}", shown(value), error.what()));
    }
  });
}

void KeyTable::add_integer(KeyText text, std::int64_t lowest, std::int64_t highest,
                           std::function<void(std::int64_t)> set) {
  add(std::move(text), KeyKind::integer, fmt::format("from {} to {}", lowest, highest),
      [lowest, highest, set = std::move(set)](const std::string& value) {
        const auto number = detail::parse_number<std::int64_t>(value);
        if (!number || *number < lowest || *number > highest) {
          refuse(fmt::format("must be a whole number between {} and {} (got {})", lowest, highest,
                             shown(value)));
        }
        set(*number);
      });
}

void KeyTable::add_choice(KeyText text, std::vector<std::string> names,
                          std::function<void(std::size_t)> set) {
  std::string allowed = joined(names);
  add(std::move(text), KeyKind::choice, std::move(allowed),
      [names = std::move(names), set = std::move(set)](const std::string& value) {
        const auto found = std::find(names.begin(), names.end(), value);
        if (found == names.end()) {
          refuse(fmt::format("unknown value {}{}", shown(value), suggestion(value, names)));
        }
        set(static_cast<std::size_t>(found - names.begin()));
      });
}

FoundKey KeyTable::find(std::string_view name) const {
  for (const Key& key : keys_) {
    if (key.text.name == name) return {&key, SecretSource::value};
    if (key.kind != KeyKind::secret || !name.starts_with(key.text.name)) continue;
    const std::string_view rest = name.substr(key.text.name.size());
    if (rest == file_suffix) return {&key, SecretSource::file};
    if (rest == variable_suffix) return {&key, SecretSource::variable};
  }
  return {};
}

bool KeyTable::exclude(std::string_view one, std::string_view other) const {
  const auto is_instead = [&](std::string_view name, std::string_view of) {
    const auto& replaced = find(name).key->text.instead_of;
    return std::find(replaced.begin(), replaced.end(), of) != replaced.end();
  };
  return one == other || is_instead(one, other) || is_instead(other, one);
}

std::vector<std::string> KeyTable::names() const {
  std::vector<std::string> names;
  for (const Key& key : keys_) {
    names.push_back(key.text.name);
    if (key.kind != KeyKind::secret) continue;
    names.push_back(fmt::format("{}{}", key.text.name, file_suffix));
    names.push_back(fmt::format("{}{}", key.text.name, variable_suffix));
  }
  return names;
}

std::string KeyTable::in_words_of_keys(std::string message) const {
  for (const Key& key : keys_) {
    const KeyText& text = key.text;
    const std::string snake = text.field.empty() ? in_snake_case(text.name) : text.field;
    if (snake != text.name) replace_words(message, snake, text.name);
  }
  return message;
}

}  // namespace simba::config
