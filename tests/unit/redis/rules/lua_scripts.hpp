#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "redis/protocol/reply.hpp"
#include "unit/redis/rules/database.hpp"

struct lua_State;

namespace simba::redis::rules {

/// Runs scripts with the interpreter that is inside Redis, Lua 5.1, and with `redis.call` and
/// `redis.pcall`.
class LuaScripts {
 public:
  using Call = std::function<Reply(const Words&)>;

  explicit LuaScripts(Call call);
  LuaScripts(const LuaScripts&) = delete;
  LuaScripts& operator=(const LuaScripts&) = delete;

  /// What the script returns, as Redis converts it. What it did before an error stays.
  Reply run(const std::string& text, const Words& keys, const Words& arguments);

 private:
  static int call_from_lua(lua_State* lua);

  const Call call_;
  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
  std::map<std::string, int> compiled_;  // the text -> its place in the registry
};

}  // namespace simba::redis::rules
