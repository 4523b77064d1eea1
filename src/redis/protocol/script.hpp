#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/time.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// The scripts in src/redis/lua.
enum class Script { acquire, guard, release };

/// The whole text, as the server runs it.
const std::string& text_of(Script script);

/// All of them, for SCRIPT LOAD.
std::vector<std::string> all_scripts();

/// By which name EVALSHA calls it.
const std::string& hash_of(Script script);

/// Where a waiter listens. An empty inbox: nowhere yet.
struct Place {
  std::string inbox{};
  std::uint64_t number = 0;
};

/// A call of a script for one mutex, ready to be sent.
class ScriptCall {
 public:
  static ScriptCall acquire(const engine::LeaseRequest& request, const Place& place);
  static ScriptCall guard(const engine::LeaseRequest& request);
  static ScriptCall release(const engine::LeaseRequest& request, FencingToken token,
                            Topology topology);
  static ScriptCall retrieve(const std::string& mutex);

  /// By its hash, or with its whole text where the server does not know it.
  std::string by_hash() const { return encoded("EVALSHA", hash_of(script_)); }
  std::string by_text() const { return encoded("EVAL", text_of(script_)); }

 private:
  explicit ScriptCall(Script script, std::string_view mutex);

  std::string encoded(std::string_view command, std::string_view what) const;

  Script script_;
  std::vector<std::string> keys_;
  std::vector<std::string> arguments_;
};

}  // namespace simba::redis
