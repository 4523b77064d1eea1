#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "redis/protocol/reply.hpp"

namespace simba::redis::rules {

using Words = std::vector<std::string>;

/// The keys of a simulated Redis, and the commands on them that Simba's scripts use. Anything else
/// is an error, as on a server that does not know it.
class Database {
 public:
  /// The server's clock. It stands still while a script runs.
  void set_time(std::int64_t microseconds) noexcept { now_us_ = microseconds; }
  std::int64_t time() const noexcept { return now_us_; }

  Reply execute(const Words& words);
  void clear() { keys_.clear(); }

  // ---- what a test looks at
  bool exists(const std::string& key) { return find(key) != nullptr; }
  std::optional<std::string> text_at(const std::string& key);
  bool expires(const std::string& key);
  Words members(const std::string& key);

 private:
  using Hash = std::map<std::string, std::string>;
  using Sorted = std::map<std::string, double>;
  struct Value {
    std::variant<std::string, Hash, Sorted> data{};
    std::optional<std::int64_t> expires_at{};  // ms
  };

  Value* find(const std::string& key);
  template <typename Kind>
  Kind* find_as(const std::string& key);
  template <typename Kind>
  Kind& make(const std::string& key);

  Reply set(const Words& words);
  Reply hash_command(const Words& words);
  Reply sorted_command(const Words& words);
  Reply expiry_command(const Words& words);

  std::int64_t now_us_ = 0;
  std::map<std::string, Value> keys_;
};

}  // namespace simba::redis::rules
