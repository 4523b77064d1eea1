#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/mutex_records.hpp"
#include "simba/core/time.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// The scripts in src/redis/lua.
enum class Script { acquire, guard, release, record };

/// The whole text, as the server runs it.
const std::string& text_of(Script script);

/// By which name EVALSHA calls it.
const std::string& hash_of(Script script);

/// How many decimal digits the secret of a wait has: 128 bits.
inline constexpr std::size_t secret_length = 40;

/// Where a waiter listens, and by which secret a grant to it is known. An empty inbox: nowhere yet.
///
/// The secret is told to the server alone, which keeps it where one needs rights to keys, and
/// publishes it in the one grant that it is good for.
struct Place {
  std::string inbox{};
  std::string secret{};
};

/// A call of a script for one mutex, ready to be sent.
class ScriptCall {
 public:
  /// `retention`: how long after its lease a mutex keeps its newest token.
  static ScriptCall acquire(const engine::LeaseRequest& request, const Place& place,
                            std::chrono::milliseconds retention);
  static ScriptCall guard(const engine::LeaseRequest& request, std::chrono::milliseconds retention);
  static ScriptCall release(const engine::LeaseRequest& request, FencingToken token,
                            Topology topology, std::chrono::milliseconds retention);
  static ScriptCall retrieve(const std::string& mutex);
  static ScriptCall read_record(const std::string& mutex);
  static ScriptCall write_record(const RecordWrite& write);

  /// By its hash, or with its whole text where the server does not know it.
  std::string by_hash() const { return encoded("EVALSHA", hash_of(script_)); }
  std::string by_text() const { return encoded("EVAL", text_of(script_)); }

 private:
  ScriptCall(Script script, std::vector<std::string> keys, std::vector<std::string> arguments);

  std::string encoded(std::string_view command, std::string_view what) const;

  Script script_;
  std::vector<std::string> keys_;
  std::vector<std::string> arguments_;
};

}  // namespace simba::redis
