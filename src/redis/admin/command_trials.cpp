#include "redis/admin/command_trials.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/server_error.hpp"

namespace simba::redis {
namespace {

using engine::Finding;
using Code = ServerError::Code;

struct Trial {
  std::string rule;  ///< of the ACL that allows it
  std::vector<std::string_view> words;
};

// A key that nobody has, and a channel that nobody listens to.
constexpr std::string_view trial_key = "simba:{simba-doctor}";
constexpr std::string_view trial_record = "simba:{simba-doctor}:record";

std::vector<Trial> trials_for(const RedisOptions& options) {
  std::vector<Trial> trials{
      {"+eval", {"EVAL", "return 1", "0"}},
      {"+evalsha", {"EVALSHA", "0000000000000000000000000000000000000000", "0"}},
      {"+time", {"TIME"}},
      {"+get", {"GET", trial_key}},
      {"+set", {"SET", trial_key, "", "XX", "PX", "1"}},  // only where it exists
      {"+del", {"DEL", trial_key}},
      {"+exists", {"EXISTS", trial_key}},
      {"+pexpire", {"PEXPIRE", trial_key, "1"}},
      {"+pttl", {"PTTL", trial_key}},
      {"+hget", {"HGET", trial_key, "f"}},
      {"+hmget", {"HMGET", trial_key, "f"}},
      {"+hset",
       {"HSET", trial_key, "f", "v", "no value"}},  // refused after the rights were looked at
      {"~simba:*", {"HSET", trial_record, "f", "v", "no value"}},  // the same
      {"+hdel", {"HDEL", trial_key, "f"}},
      {"+zadd", {"ZADD", trial_key, "XX", "1", "m"}},
      {"+zrem", {"ZREM", trial_key, "m"}},
      {"+zrange", {"ZRANGE", trial_key, "0", "0"}},
      {"+zscore", {"ZSCORE", trial_key, "m"}},
      {"+publish", {"PUBLISH", trial_key, ""}},
      {"+pubsub|numsub", {"PUBSUB", "NUMSUB", trial_key}},
      {"+subscribe", {"SUBSCRIBE", trial_key}},
      {"+unsubscribe", {"UNSUBSCRIBE", trial_key}},
      {"+ping", {"PING"}},
      {"+role", {"ROLE"}},
  };
  if (options.wait_replicas > 0) trials.push_back({"+wait", {"WAIT", "0", "1"}});
  if (options.topology == Topology::cluster) {
    trials.push_back({"+cluster|slots", {"CLUSTER", "SLOTS"}});
    trials.push_back({"+asking", {"ASKING"}});
  }
  return trials;
}

bool is_about_names(std::string_view text) {
  return text.find("key") != std::string_view::npos ||
         text.find("channel") != std::string_view::npos;
}

/// True if the server would refuse the store, too; the others are answers to odd commands.
bool stops_the_store(Code code) {
  switch (code) {
    case Code::cluster_down:
    case Code::master_down:
    case Code::loading:
    case Code::busy:
    case Code::out_of_memory:
    case Code::no_replicas:
    case Code::misconfigured:
    case Code::wrong_type:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<Finding> try_commands(ServerConsole& console, const Endpoint& server) {
  const auto trials = trials_for(console.options());
  std::string commands;
  for (const Trial& trial : trials) append_command(commands, trial.words);
  const auto replies = console.ask(server, commands, trials.size());
  console.leave(server);  // who may subscribe but not unsubscribe can ask nothing more on it

  std::vector<Finding> findings;
  std::set<std::string> told;
  const auto add = [&](std::string text, ErrorKind kind) {
    if (!told.insert(text).second) return;
    findings.push_back({Finding::Weight::problem, std::move(text), kind});
  };
  const std::string user = console.options().user.empty() ? "default" : console.options().user;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!replies[i].is(Reply::Type::error)) continue;
    const ServerError error = parse_server_error(replies[i].text);
    if (error.code == Code::no_permission && !is_about_names(error.text)) {
      add(fmt::format("Redis user {} is not allowed to use {}; run: ACL SETUSER {} {}",
                      detail::excerpt(user), trials[i].words.front(), detail::excerpt(user),
                      trials[i].rule),
          ErrorKind::permission);
    } else if (error.code == Code::no_permission || error.code == Code::unknown_command ||
               stops_the_store(error.code)) {
      const Error told_as = to_error(error, place_of(server));
      add(told_as.what(), told_as.kind());
    }
  }
  return findings;
}

}  // namespace simba::redis
