#include "redis/admin/admin_answers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "redis/protocol/lease_answer.hpp"
#include "redis/protocol/server_error.hpp"
#include "redis/settings.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::MutexEntry;
using std::chrono::milliseconds;

/// Longer than any lease that an answer tells, so it stands for a key without an expiry.
constexpr milliseconds without_end = std::chrono::hours{24 * 1'000};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// What the rules of an ACL allow, as far as we care. Each changes what those before it say.
class AclRules {
 public:
  void add(std::string_view rule) {
    if (rule == "&*" || rule == "allchannels") every_channel_ = true;
    if (rule == "resetchannels") every_channel_ = false;
    if (rule == "allkeys" || reads_keys(rule)) keys_ = true;
    if (rule == "resetkeys") keys_ = false;
    if (rule == "allcommands") rule = "+@all";
    if (rule == "nocommands") rule = "-@all";
    if (!rule.starts_with('+') && !rule.starts_with('-')) return;
    for (Command& command : commands_) {
      if (command.is_meant_by(rule.substr(1))) command.allowed = rule.starts_with('+');
    }
  }

  bool uses_every_channel() const {
    return every_channel_ &&
           std::any_of(commands_.begin(), commands_.end(),
                       [](const Command& one) { return one.allowed && !one.reads_requests; });
  }
  bool reads_requests() const {
    return std::any_of(commands_.begin(), commands_.end(),
                       [](const Command& one) { return one.allowed && one.reads_requests; });
  }
  bool uses_keys() const noexcept { return keys_; }

 private:
  /// "~simba:*", "%R~*", "%RW~simba*": all that can be read.
  static bool reads_keys(std::string_view rule) {
    const std::size_t tilde = rule.find('~');
    if (tilde == std::string_view::npos) return false;
    const std::string_view rights = rule.substr(0, tilde);
    const std::string_view pattern = rule.substr(tilde + 1);
    return (rights.empty() || (rights.starts_with('%') && rights.find('R') != rights.npos)) &&
           (pattern == "*" || pattern == "simba*" || pattern == "simba:*");
  }

  struct Command {
    bool is_meant_by(std::string_view rule) const {
      return std::find(names.begin(), names.end(), rule) != names.end();
    }

    std::array<std::string_view, 6> names;  ///< its own, and those of its categories
    bool reads_requests = false;
    bool allowed = false;
  };

  std::array<Command, 5> commands_{
      {{{"publish", "@all", "@pubsub", "@fast"}},
       {{"subscribe", "@all", "@pubsub", "@slow"}},
       {{"psubscribe", "@all", "@pubsub", "@slow"}},
       {{"monitor", "@all", "@admin", "@slow", "@dangerous"}, true},
       {{"slowlog", "slowlog|get", "@all", "@admin", "@slow", "@dangerous"}, true}}};
  bool every_channel_ = false;
  bool keys_ = false;
};

}  // namespace

std::string value_in(std::string_view info, std::string_view key) {
  while (!info.empty()) {
    const auto end = std::min(info.find('\n'), info.size());
    std::string_view line = info.substr(0, end);
    info.remove_prefix(std::min(end + 1, info.size()));
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != ':') continue;
    line.remove_prefix(key.size() + 1);
    while (line.ends_with('\r')) line.remove_suffix(1);
    return detail::excerpt(line);
  }
  return {};
}

std::optional<std::uint64_t> calls_in(std::string_view stats, std::string_view command) {
  constexpr std::string_view begin = "calls=";
  // A server that has just answered this has been called for that, at least.
  if (value_in(stats, "cmdstat_info").empty()) return std::nullopt;
  const std::string value = value_in(stats, "cmdstat_" + std::string{command});
  if (value.empty()) return 0;
  if (!value.starts_with(begin)) return std::nullopt;
  return detail::parse_number<std::uint64_t>(
      std::string_view{value}.substr(begin.size(), value.find(',') - begin.size()));
}

ServerVersion server_in(std::string_view info) {
  for (const auto& [product, key] :
       {std::pair{"Valkey", "valkey_version"}, std::pair{"Dragonfly", "dragonfly_version"},
        std::pair{"Kvrocks", "kvrocks_version"}}) {
    if (auto version = value_in(info, key); !version.empty()) return {product, std::move(version)};
  }
  const bool keydb = value_in(info, "executable").find("keydb-server") != std::string::npos;
  return {keydb ? "KeyDB" : "Redis", value_in(info, "redis_version")};
}

bool is_too_old(std::string_view version) {
  return detail::parse_version(version) < std::array{6U, 2U, 0U};
}

std::optional<StoreTime> server_time(const Reply& reply) {
  constexpr std::int64_t end_of_time = 253'402'300'800;  // the year 10000, in seconds
  constexpr std::int64_t one_second = 1'000'000;
  if (reply.elements.size() != 2) return std::nullopt;
  const auto seconds = detail::parse_number<std::int64_t>(reply.elements[0].text);
  const auto microseconds = detail::parse_number<std::int64_t>(reply.elements[1].text);
  if (!seconds || *seconds <= 0 || *seconds >= end_of_time) return std::nullopt;
  if (!microseconds || *microseconds < 0 || *microseconds >= one_second) return std::nullopt;
  return StoreTime{milliseconds{*seconds * 1'000 + *microseconds / 1'000}};
}

std::string_view mutex_of(std::string_view key) {
  constexpr std::string_view begin = "simba:{";
  for (const std::string_view end : {"}:fence", "}"}) {
    if (key.size() > begin.size() + end.size() && key.starts_with(begin) && key.ends_with(end)) {
      return key.substr(begin.size(), key.size() - begin.size() - end.size());
    }
  }
  return {};
}

std::vector<Endpoint> replicas_in(const Reply& role) {
  std::vector<Endpoint> replicas;
  if (role.elements.size() < 3 || role.elements[0].text != "master") return replicas;
  for (const Reply& replica : role.elements[2].elements) {
    if (replica.elements.size() < 2 || !can_be_host(replica.elements[0].text)) continue;
    const auto port = detail::parse_number<std::uint16_t>(replica.elements[1].text);
    if (port && *port != 0) {
      replicas.push_back({.host = replica.elements[0].text, .port = *port});
    }
  }
  return replicas;
}

milliseconds ahead_of(StoreTime before, StoreTime clock, StoreTime after) {
  if (clock > after) return clock - after;
  if (clock < before) return clock - before;
  return milliseconds{0};
}

AclUser acl_user_in(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < 2 || words[0] != "user") return {};
  AclUser user{.name = std::string{words[1]}};
  bool enabled = false;
  bool reads_requests = false;
  bool uses_keys = false;
  for (std::size_t i = 2; i < words.size();) {
    AclRules rules;
    // The rules of the user, or of a selector, which is in brackets and adds to them.
    const bool is_selector = words[i].starts_with('(');
    for (bool last = false; i < words.size() && !last; ++i) {
      std::string_view word = words[i];
      if (!is_selector && word.starts_with('(')) break;
      if (is_selector && word.starts_with('(')) word.remove_prefix(1);
      last = is_selector && word.ends_with(')');
      if (last) word.remove_suffix(1);
      if (word == "on") enabled = true;
      rules.add(word);
    }
    user.uses_every_channel = user.uses_every_channel || rules.uses_every_channel();
    reads_requests = reads_requests || rules.reads_requests();
    uses_keys = uses_keys || rules.uses_keys();
  }
  user.only_reads_requests = reads_requests && !uses_keys;
  return enabled ? user : AclUser{};
}

LeaseRecord record_in(const Reply& reply, const std::string& mutex) {
  if (reply.is(Reply::Type::error)) throw to_error(parse_server_error(reply.text), "Redis");
  const LeaseRequest request{.mutex = mutex, .contender_id = {}, .ttl = without_end};
  const auto answer = parse_lease_answer(reply, request);
  if (answer.error() != nullptr) throw Error{*answer.error()};
  return *answer.record();
}

MutexEntry entry_in(std::span<const Reply, 2> replies, const std::string& mutex) {
  const LeaseRecord record = record_in(replies[0], mutex);
  MutexEntry entry{.mutex = mutex,
                   .owner_id = record.owner_id,
                   .fencing_token = record.fencing_token,
                   .left = record.transition_left};
  if (record.transition_left == without_end) {
    entry.left.reset();
  } else if (record.fencing_token != 0) {
    entry.acquired_at = record.lease.acquired_at;
  }
  if (record.owner_id.empty()) {
    entry.fencing_token = detail::parse_number<FencingToken>(replies[1].text).value_or(0);
  }
  return entry;
}

std::optional<std::vector<engine::WaitingContender>> waiting_in(const Reply& reply) {
  if (!reply.is(Reply::Type::array) || reply.elements.size() % 2 != 0) return std::nullopt;
  std::vector<engine::WaitingContender> waiting;
  waiting.reserve(reply.elements.size() / 2);
  for (std::size_t i = 0; i < reply.elements.size(); i += 2) {
    const auto microseconds = detail::parse_number<std::int64_t>(reply.elements[i + 1].text);
    waiting.push_back({.contender_id = reply.elements[i].text,
                       .since = StoreTime{milliseconds{microseconds.value_or(0) / 1'000}}});
  }
  return waiting;
}

}  // namespace simba::redis
