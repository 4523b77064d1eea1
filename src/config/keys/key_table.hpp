#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/host_list.hpp"
#include "simba/config/duration.hpp"
#include "simba/core/secret.hpp"

namespace simba::config {

enum class KeyKind {
  duration,
  signed_duration,
  integer,
  text,
  secret,
  choice,
  toggle,
  path,
  hosts,
};

/// As the documents call it, e.g. "duration".
std::string_view to_string(KeyKind kind) noexcept;

/// What several stores have in common.
enum class KeyGroup { store, sql, tls, contention };

/// What people read of a key.
struct KeyText {
  std::string name{};      ///< in kebab-case
  std::string meaning{};   ///< one line
  std::string fallback{};  ///< the default in words; empty: the value that the option has
  std::string field{};     ///< as messages of the store call it, where that is not `the_name`
  std::vector<std::string> instead_of{};  ///< keys that it takes the place of, as a socket a host
};

struct Key {
  KeyText text{};
  KeyKind kind = KeyKind::text;
  KeyGroup group = KeyGroup::store;
  std::string allowed{};  ///< for documents, where the kind alone does not say it

  /// Throws Error of kind `configuration` that says what was found and what is allowed. `numbers`:
  /// what a duration without a unit is.
  std::function<void(const std::string& value, WithoutUnit numbers)> set{};
};

/// Where the value of a key may come from: itself, or from a file or a variable that it names.
enum class SecretSource { value, file, variable };

struct FoundKey {
  const Key* key = nullptr;
  SecretSource source = SecretSource::value;
};

/// The keys of one object of options. The targets that are bound must outlive the table and stay
/// where they are.
class KeyTable {
 public:
  KeyTable() = default;
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  /// The group of the keys that are bound from here on.
  void begin(KeyGroup group) { group_ = group; }

  void duration(KeyText text, std::chrono::milliseconds& target);
  void duration(KeyText text, std::optional<std::chrono::milliseconds>& target);
  void signed_duration(KeyText text, std::chrono::milliseconds& target);
  void text(KeyText text, std::string& target);
  void host(KeyText text, std::string& target);  ///< one, without a port
  void secret(KeyText text, Secret& target);
  void toggle(KeyText text, std::function<void(bool)> set);
  void path(KeyText text, std::filesystem::path& target);
  void path(KeyText text, std::string& target);
  void hosts(KeyText text, std::vector<detail::HostPort>& target);

  template <std::integral Number>
  void integer(KeyText text, Number& target, std::int64_t lowest, std::int64_t highest) {
    if (text.fallback.empty()) text.fallback = std::to_string(target);
    add_integer(std::move(text), lowest, highest,
                [&target](std::int64_t value) { target = static_cast<Number>(value); });
  }

  template <std::integral Number>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved on
  void integer(KeyText text, std::optional<Number>& target, std::int64_t lowest,
               std::int64_t highest) {
    add_integer(std::move(text), lowest, highest,
                [&target](std::int64_t value) { target = static_cast<Number>(value); });
  }

  template <class Value>
  void choice(KeyText text, Value& target,
              const std::vector<std::pair<std::string, Value>>& values) {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) {
      names.push_back(name);
      if (text.fallback.empty() && value == target) text.fallback = name;
    }
    add_choice(std::move(text), std::move(names),
               [&target, values](std::size_t index) { target = values[index].second; });
  }

  const std::vector<Key>& keys() const noexcept { return keys_; }

  /// Also finds `password-file` and `password-env` of `password`. No key: there is none.
  FoundKey find(std::string_view name) const;

  /// Whether only one of the two can count: they are the same, or one stands `instead_of` the
  /// other.
  bool exclude(std::string_view one, std::string_view other) const;

  /// All that `find` finds.
  std::vector<std::string> names() const;

  /// A message of a store in the words of the keys: "ca-file" for "tls.ca_file".
  std::string in_words_of_keys(std::string message) const;

 private:
  void add(KeyText text, KeyKind kind, std::string allowed,
           std::function<void(const std::string&)> set);
  void add_duration(KeyText text, KeyKind kind,
                    std::function<void(const std::string&, WithoutUnit)> set);
  void add_integer(KeyText text, std::int64_t lowest, std::int64_t highest,
                   std::function<void(std::int64_t)> set);
  void add_choice(KeyText text, std::vector<std::string> names,
                  std::function<void(std::size_t)> set);

  KeyGroup group_ = KeyGroup::store;
  std::vector<Key> keys_;
};

/// Reads "true" or "false", also "yes", "no", "on", "off", "1", "0". Throws Error of kind
/// `configuration`.
bool parse_toggle(std::string_view text);

}  // namespace simba::config
