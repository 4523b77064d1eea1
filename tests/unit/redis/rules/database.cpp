#include "unit/redis/rules/database.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis::rules {
namespace {

Reply text_or_nil(const std::map<std::string, std::string>* hash, const std::string& field) {
  if (hash == nullptr || !hash->contains(field)) return nil_reply();
  return text_reply(hash->at(field));
}

}  // namespace

Reply Database::execute(const Words& words) {
  const std::string& name = words.at(0);
  if (name == "TIME") {
    return array_reply({text_reply(std::to_string(now_us_ / 1'000'000)),
                        text_reply(std::to_string(now_us_ % 1'000'000))});
  }
  if (name == "GET") {
    const auto text = text_at(words.at(1));
    return text ? text_reply(*text) : nil_reply();
  }
  if (name == "SET") return set(words);
  if (name == "DEL" || name == "EXISTS") {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (find(words[i]) == nullptr) continue;
      ++count;
      if (name == "DEL") keys_.erase(words[i]);
    }
    return integer_reply(count);
  }
  if (name.starts_with('P')) return expiry_command(words);
  if (name.starts_with('H')) return hash_command(words);
  if (name.starts_with('Z')) return sorted_command(words);
  return error_reply("ERR unknown command '" + name + "'");
}

// SET key value [NX | XX] [PX ms]
Reply Database::set(const Words& words) {
  const auto option = [&](const char* wanted) {
    return std::find(words.begin() + 3, words.end(), wanted) != words.end();
  };
  const bool there = find(words.at(1)) != nullptr;
  if ((option("NX") && there) || (option("XX") && !there)) return nil_reply();
  Value value{.data = words.at(2)};
  if (option("PX")) {
    const std::int64_t span = std::stoll(words.back());
    if (span <= 0) return error_reply("ERR invalid expire time in 'set' command");
    value.expires_at = now_us_ / 1'000 + span;
  }
  keys_[words[1]] = std::move(value);
  return status_reply("OK");
}

Reply Database::expiry_command(const Words& words) {
  Value* value = find(words.at(1));
  if (words[0] == "PTTL") {
    if (value == nullptr) return integer_reply(-2);
    if (!value->expires_at) return integer_reply(-1);
    return integer_reply(std::max<std::int64_t>(0, *value->expires_at - now_us_ / 1'000));
  }
  if (words[0] == "PEXPIRE") {
    if (value == nullptr) return integer_reply(0);
    value->expires_at = now_us_ / 1'000 + std::stoll(words.at(2));
    return integer_reply(1);
  }
  return error_reply("ERR unknown command '" + words[0] + "'");
}

Reply Database::hash_command(const Words& words) {
  const std::string& name = words[0];
  const std::string& key = words.at(1);
  if (name == "HSET") {
    std::int64_t added = 0;
    Hash& hash = make<Hash>(key);
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
      added += hash.insert_or_assign(words[i], words[i + 1]).second ? 1 : 0;
    }
    return integer_reply(added);
  }
  Hash* hash = find_as<Hash>(key);
  if (name == "HGET") return text_or_nil(hash, words.at(2));
  if (name == "HEXISTS") {
    return integer_reply(hash != nullptr && hash->contains(words.at(2)) ? 1 : 0);
  }
  if (name == "HMGET") {
    Reply reply = array_reply({});
    for (std::size_t i = 2; i < words.size(); ++i) {
      reply.elements.push_back(text_or_nil(hash, words[i]));
    }
    return reply;
  }
  if (name == "HDEL") {
    if (hash == nullptr) return integer_reply(0);
    std::size_t gone = 0;
    for (std::size_t i = 2; i < words.size(); ++i) gone += hash->erase(words[i]);
    if (hash->empty()) keys_.erase(key);
    return integer_reply(static_cast<std::int64_t>(gone));
  }
  return error_reply("ERR unknown command '" + name + "'");
}

Reply Database::sorted_command(const Words& words) {
  const std::string& name = words[0];
  const std::string& key = words.at(1);
  if (name == "ZADD") {  // key [NX] score member...
    const bool keeps = words.at(2) == "NX";
    std::int64_t added = 0;
    for (std::size_t i = keeps ? 3 : 2; i + 1 < words.size(); i += 2) {
      Sorted& sorted = make<Sorted>(key);
      const double score = std::stod(words[i]);
      const auto [place, is_new] = sorted.emplace(words[i + 1], score);
      if (!keeps) place->second = score;
      added += is_new ? 1 : 0;
    }
    return integer_reply(added);
  }
  Sorted* sorted = find_as<Sorted>(key);
  if (name == "ZSCORE") {
    if (sorted == nullptr || !sorted->contains(words.at(2))) return nil_reply();
    return text_reply(fmt::format("{:.17g}", sorted->at(words[2])));
  }
  if (name == "ZREM") {
    if (sorted == nullptr) return integer_reply(0);
    std::size_t gone = 0;
    for (std::size_t i = 2; i < words.size(); ++i) gone += sorted->erase(words[i]);
    if (sorted->empty()) keys_.erase(key);
    return integer_reply(static_cast<std::int64_t>(gone));
  }
  if (name == "ZRANGE") {  // by places, from the first or, below zero, from the last
    Reply reply = array_reply({});
    if (sorted == nullptr) return reply;
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [member, score] : *sorted) order.emplace_back(score, member);
    std::sort(order.begin(), order.end());
    const auto size = static_cast<std::int64_t>(order.size());
    const auto place_of = [&](const std::string& text) {
      const std::int64_t place = std::stoll(text);
      return place < 0 ? place + size : place;
    };
    const auto last = std::min(place_of(words.at(3)), size - 1);
    for (auto at = std::max<std::int64_t>(place_of(words.at(2)), 0); at <= last; ++at) {
      const auto& [score, member] = order[static_cast<std::size_t>(at)];
      reply.elements.push_back(text_reply(member));
      if (words.back() == "WITHSCORES") {
        reply.elements.push_back(text_reply(fmt::format("{:.17g}", score)));
      }
    }
    return reply;
  }
  return error_reply("ERR unknown command '" + name + "'");
}

Database::Value* Database::find(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  const auto& expires_at = found->second.expires_at;
  if (!expires_at || now_us_ / 1'000 <= *expires_at) return &found->second;
  keys_.erase(found);
  return nullptr;
}

template <typename Kind>
Kind* Database::find_as(const std::string& key) {
  Value* value = find(key);
  if (value == nullptr) return nullptr;
  return &std::get<Kind>(value->data);
}

template <typename Kind>
Kind& Database::make(const std::string& key) {
  if (Kind* there = find_as<Kind>(key)) return *there;
  return keys_[key].data.emplace<Kind>();
}

std::optional<std::string> Database::text_at(const std::string& key) {
  const auto* text = find_as<std::string>(key);
  return text != nullptr ? std::optional{*text} : std::nullopt;
}

bool Database::expires(const std::string& key) {
  const Value* value = find(key);
  return value != nullptr && value->expires_at.has_value();
}

Words Database::members(const std::string& key) {
  Words names;
  const Value* value = find(key);
  if (value == nullptr) return names;
  if (const auto* sorted = std::get_if<Sorted>(&value->data)) {
    for (const auto& [name, score] : *sorted) names.push_back(name);
  } else if (const auto* hash = std::get_if<Hash>(&value->data)) {
    for (const auto& [name, text] : *hash) names.push_back(name);
  }
  return names;
}

}  // namespace simba::redis::rules
