#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "redis/protocol/reply.hpp"
#include "redis/protocol/script.hpp"
#include "unit/redis/rules/database.hpp"
#include "unit/redis/rules/lua_scripts.hpp"
#include "unit/rules/world.hpp"

namespace simba::redis::rules {

using simba::rules::Actor;
using simba::rules::World;

/// What the server knows of one connection.
struct Client {
  std::string name{};
  bool open = true;
  std::set<std::string> channels{};
  std::function<void(Reply)> say{};  ///< puts a reply or a message on its way
};

/// A simulated Redis: keys, scripts, and who listens to what. The scripts are the real ones.
class Server {
 public:
  /// `change` may replace the text of a script, to see what a broken one would do.
  Server(World& world, std::function<std::string(Script, const std::string&)> change);

  Actor& actor() noexcept { return actor_; }
  Database& database();  ///< at the present moment

  bool up() const noexcept { return up_; }

  void accept(const std::shared_ptr<Client>& client);
  void serve(const std::shared_ptr<Client>& client, const Words& words);
  void forget(const std::shared_ptr<Client>& client);

  // ---- faults
  enum class Memory { kept, lost };
  void go_down(Memory memory);
  void come_up() { up_ = true; }
  void flush_scripts() { known_.clear(); }
  void load_scripts();
  void flush_all();

  /// Steps its clock.
  void set_clock_back(std::chrono::microseconds span) { behind_ += span; }

  /// Someone who listens to all channels publishes a grant again, with a greater token, wherever
  /// one could be heard.
  void replay_grant();

  /// How often it has lost its memory, when it made this token. (Tokens grow with its clock.)
  std::uint64_t life_of(std::uint64_t token) const;
  std::uint64_t life() const noexcept { return life_; }
  LocalTime life_began() const noexcept { return life_began_; }

  /// What a script died of; empty: none did.
  const std::string& script_error() const noexcept { return script_error_; }

 private:
  struct Ours {
    std::string name;
    std::string text;     // as it is sent
    std::string changed;  // as it is run
  };

  Reply call(const Words& words);
  Reply evaluate(const Words& words);
  Reply publish(const std::string& channel, const std::string& text);
  void subscribe(Client& client, const Words& words);
  void see_time();

  World& world_;
  Actor actor_;
  Database database_;
  LuaScripts lua_;
  std::map<std::string, Ours> ours_;  // by hash
  std::set<std::string> known_;       // hashes
  std::vector<std::shared_ptr<Client>> clients_;
  std::string grant_;  // the newest
  std::string script_error_;
  bool up_ = true;
  std::chrono::microseconds behind_{0};
  std::uint64_t life_ = 0;
  LocalTime life_began_ = LocalTime::min();
  std::map<std::uint64_t, std::uint64_t> lives_;  // the first possible token of each life
};

}  // namespace simba::redis::rules
