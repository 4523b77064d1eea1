#include "unit/redis/rules/server.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t birth_us = 1'700'000'000'000'000;

}  // namespace

Server::Server(World& world, std::function<std::string(Script, const std::string&)> change)
    : world_{world}, actor_{world}, lua_{[this](const Words& words) { return call(words); }} {
  const auto add = [&](Script script, const char* name) {
    const std::string& text = text_of(script);
    ours_[hash_of(script)] = {name, text, change ? change(script, text) : text};
  };
  add(Script::acquire, "acquire");
  add(Script::guard, "guard");
  add(Script::release, "release");
  add(Script::record, "record");
  lives_[0] = 0;
}

void Server::see_time() {
  const auto passed = world_.now().time_since_epoch() - 24h - behind_;
  database_.set_time(birth_us + std::chrono::floor<std::chrono::microseconds>(passed).count());
}

Database& Server::database() {
  see_time();
  return database_;
}

void Server::accept(const std::shared_ptr<Client>& client) { clients_.push_back(client); }

void Server::load_scripts() {
  for (const auto& [hash, script] : ours_) known_.insert(hash);
}

void Server::forget(const std::shared_ptr<Client>& client) {
  client->open = false;
  std::erase(clients_, client);
}

void Server::serve(const std::shared_ptr<Client>& client, const Words& words) {
  see_time();
  const std::string& name = words.at(0);
  if (name == "SUBSCRIBE") {
    subscribe(*client, words);
  } else if (name == "UNSUBSCRIBE") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      client->channels.erase(words[i]);
      client->say(array_reply({text_reply("unsubscribe"), text_reply(words[i]),
                               integer_reply(static_cast<std::int64_t>(client->channels.size()))}));
    }
  } else if (name == "PING") {
    client->say(client->channels.empty() ? status_reply("PONG")
                                         : array_reply({text_reply("pong"), text_reply("")}));
  } else if (name == "EVAL" || name == "EVALSHA") {
    Reply reply = evaluate(words);
    std::string told;
    for (const Reply& part : reply.elements) {
      told += " " + (part.is(Reply::Type::integer) ? std::to_string(part.integer) : part.text);
    }
    if (!reply.is(Reply::Type::array)) told = " " + reply.text;
    world_.note(fmt::format("server: {} ->{}", client->name, told));
    client->say(std::move(reply));
  } else {
    client->say(call(words));
  }
}

void Server::subscribe(Client& client, const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    client.channels.insert(words[i]);
    client.say(array_reply({text_reply("subscribe"), text_reply(words[i]),
                            integer_reply(static_cast<std::int64_t>(client.channels.size()))}));
  }
}

Reply Server::evaluate(const Words& words) {
  const bool by_hash = words.at(0) == "EVALSHA";
  if (by_hash && !known_.contains(words.at(1))) return error_reply("NOSCRIPT No matching script.");
  const auto found = std::find_if(ours_.begin(), ours_.end(), [&](const auto& script) {
    return (by_hash ? script.first : script.second.text) == words.at(1);
  });
  const bool ours = found != ours_.end();
  if (ours) known_.insert(found->first);
  const auto keys = static_cast<std::ptrdiff_t>(std::stoul(words.at(2)));
  const auto first = words.begin() + 3;
  const Words arguments{first + keys, words.end()};
  world_.note(fmt::format("server: {} {} {}", ours ? found->second.name : "a script of a JVM",
                          words.at(3), fmt::join(arguments, " ")));
  Reply reply =
      lua_.run(ours ? found->second.changed : words.at(1), Words{first, first + keys}, arguments);
  if (reply.is(Reply::Type::error)) script_error_ = reply.text;
  return reply;
}

Reply Server::call(const Words& words) {
  if (words.at(0) == "PUBLISH") return publish(words.at(1), words.at(2));
  if (words[0] == "PUBSUB" && words.at(1) == "NUMSUB") {
    const auto count = std::count_if(clients_.begin(), clients_.end(), [&](const auto& client) {
      return client->channels.contains(words.at(2));
    });
    return array_reply({text_reply(words[2]), integer_reply(count)});
  }
  if (words[0] == "WAIT") return integer_reply(std::stoi(words.at(1)));  // all of them confirm
  Reply reply = database_.execute(words);
  if (reply.is(Reply::Type::error)) script_error_ = reply.text;
  return reply;
}

Reply Server::publish(const std::string& channel, const std::string& text) {
  std::int64_t heard = 0;
  for (const auto& client : clients_) {
    if (!client->channels.contains(channel)) continue;
    ++heard;
    client->say(array_reply({text_reply("message"), text_reply(channel), text_reply(text)}));
  }
  world_.note(fmt::format("server: publish {} {} to {}", channel, text, heard));
  if (text.starts_with("granted ")) grant_ = text;
  return integer_reply(heard);
}

void Server::replay_grant() {
  if (grant_.empty()) return;
  std::istringstream words{grant_};
  std::string event;
  std::string secret;
  std::uint64_t token = 0;
  std::string rest;
  words >> event >> secret >> token;
  std::getline(words, rest);
  std::set<std::string> inboxes;
  for (const auto& client : clients_) {
    for (const std::string& channel : client->channels) {
      if (channel.starts_with("simba:inbox:")) inboxes.insert(channel);
    }
  }
  for (const std::string& inbox : inboxes) {
    publish(inbox, fmt::format("granted {} {}{}", secret, token + 1'000'000, rest));
  }
}

void Server::go_down(Memory memory) {
  world_.note(memory == Memory::kept ? "server: down" : "server: down, loses its memory");
  up_ = false;
  known_.clear();
  for (const auto& client : std::exchange(clients_, {})) client->open = false;
  if (memory == Memory::lost) flush_all();
}

void Server::flush_all() {
  see_time();
  database_.clear();
  lives_[static_cast<std::uint64_t>(database_.time())] = ++life_;
  life_began_ = world_.now();
}

std::uint64_t Server::life_of(std::uint64_t token) const {
  return std::prev(lives_.upper_bound(token))->second;
}

}  // namespace simba::redis::rules
