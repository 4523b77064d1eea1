#include "unit/redis/rules/lua_scripts.hpp"

#include <lua.hpp>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis::rules {
namespace {

void push(lua_State* lua, const std::string& text) {
  ::lua_pushlstring(lua, text.data(), text.size());
}

void push(lua_State* lua, const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::nil:
      ::lua_pushboolean(lua, 0);
      return;
    case Reply::Type::string:
      push(lua, reply.text);
      return;
    case Reply::Type::integer:
      ::lua_pushnumber(lua, static_cast<lua_Number>(reply.integer));
      return;
    case Reply::Type::status:
    case Reply::Type::error:
      lua_newtable(lua);
      push(lua, reply.text);
      ::lua_setfield(lua, -2, reply.is(Reply::Type::status) ? "ok" : "err");
      return;
    case Reply::Type::array:
      break;
  }
  lua_newtable(lua);
  for (std::size_t i = 0; i < reply.elements.size(); ++i) {
    push(lua, reply.elements[i]);
    ::lua_rawseti(lua, -2, static_cast<int>(i + 1));
  }
}

std::string text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = ::lua_tolstring(lua, index, &size);
  return text == nullptr ? std::string{} : std::string{text, size};
}

Reply reply_at(lua_State* lua, int index) {
  switch (::lua_type(lua, index)) {
    case LUA_TSTRING:
      return text_reply(text_at(lua, index));
    case LUA_TNUMBER:
      return integer_reply(static_cast<std::int64_t>(::lua_tonumber(lua, index)));
    case LUA_TBOOLEAN:
      return ::lua_toboolean(lua, index) != 0 ? integer_reply(1) : nil_reply();
    case LUA_TTABLE: {
      Reply reply = array_reply({});
      for (int i = 1;; ++i) {
        ::lua_rawgeti(lua, index, i);
        const bool end = lua_isnil(lua, -1);
        if (!end) reply.elements.push_back(reply_at(lua, ::lua_gettop(lua)));
        lua_pop(lua, 1);
        if (end) return reply;
      }
    }
    default:
      return nil_reply();
  }
}

void set_global(lua_State* lua, const char* name, const Words& words) {
  Reply list = array_reply({});
  for (const std::string& word : words) list.elements.push_back(text_reply(word));
  push(lua, list);
  lua_setglobal(lua, name);
}

/// A script of Redis must not make global variables.
constexpr const char* no_globals =
    "KEYS = {} ARGV = {} "
    "setmetatable(_G, {__newindex = function(_, name) error('global variable ' .. name) end})";

}  // namespace

LuaScripts::LuaScripts(Call call) : call_{std::move(call)}, lua_{::luaL_newstate(), ::lua_close} {
  lua_State* lua = lua_.get();
  ::luaL_openlibs(lua);
  lua_newtable(lua);
  for (const bool throws : {true, false}) {
    ::lua_pushlightuserdata(lua, this);
    ::lua_pushboolean(lua, throws ? 1 : 0);
    ::lua_pushcclosure(lua, call_from_lua, 2);
    ::lua_setfield(lua, -2, throws ? "call" : "pcall");
  }
  lua_setglobal(lua, "redis");
  if (luaL_dostring(lua, no_globals) != 0) throw std::logic_error{text_at(lua, -1)};
}

// An error leaves by a jump over everything, so nothing that has a destructor may be left then.
int LuaScripts::call_from_lua(lua_State* lua) {
  bool failed = false;
  {
    auto* self = static_cast<LuaScripts*>(::lua_touserdata(lua, lua_upvalueindex(1)));
    Words words;
    for (int i = 1; i <= ::lua_gettop(lua); ++i) {
      const int type = ::lua_type(lua, i);
      failed = failed || (type != LUA_TSTRING && type != LUA_TNUMBER);
      words.push_back(type == LUA_TNUMBER ? fmt::format("{:.17g}", ::lua_tonumber(lua, i))
                                          : text_at(lua, i));
    }
    Reply reply;
    if (failed) {
      reply = error_reply("ERR command arguments must be strings or integers");
    } else {
      try {
        reply = self->call_(words);
      } catch (const std::exception& e) {
        reply = error_reply(std::string{"ERR "} + e.what());
      }
    }
    const bool throws = ::lua_toboolean(lua, lua_upvalueindex(2)) != 0;
    failed = throws && reply.is(Reply::Type::error);
    if (failed) {
      push(lua, reply.text);
    } else {
      push(lua, reply);
    }
  }
  return failed ? ::lua_error(lua) : 1;
}

Reply LuaScripts::run(const std::string& text, const Words& keys, const Words& arguments) {
  lua_State* lua = lua_.get();
  auto found = compiled_.find(text);
  if (found == compiled_.end()) {
    if (luaL_loadbuffer(lua, text.data(), text.size(), "@script") != 0) {
      throw std::logic_error{text_at(lua, -1)};
    }
    found = compiled_.emplace(text, ::luaL_ref(lua, LUA_REGISTRYINDEX)).first;
  }
  set_global(lua, "KEYS", keys);
  set_global(lua, "ARGV", arguments);
  ::lua_rawgeti(lua, LUA_REGISTRYINDEX, found->second);
  const bool failed = ::lua_pcall(lua, 0, 1, 0) != 0;
  Reply reply = failed ? error_reply("ERR " + text_at(lua, -1)) : reply_at(lua, ::lua_gettop(lua));
  ::lua_settop(lua, 0);
  return reply;
}

}  // namespace simba::redis::rules
