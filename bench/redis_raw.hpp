#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <hiredis/hiredis.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "redis/protocol/keys.hpp"
#include "redis/protocol/script.hpp"
#include "support/redis/redis_console.hpp"

/// What the benchmarks of the Redis store compare it with: bare hiredis, and redis-benchmark.
namespace simba::bench {

/// A blocking connection of hiredis.
class RawRedis {
 public:
  using Words = std::vector<std::string>;
  using Answer = std::unique_ptr<redisReply, void (*)(void*)>;

  explicit RawRedis(const support::Location& at)
      : context_{::redisConnect(at.host.c_str(), at.port), &::redisFree} {
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error{"no connection"};
    ask({"AUTH", "admin", at.password});  // who may load scripts
    for (const auto script :
         {redis::Script::acquire, redis::Script::guard, redis::Script::release}) {
      ask({"SCRIPT", "LOAD", redis::text_of(script)});
    }
    ask({"AUTH", at.user, at.password});
  }

  Answer ask(const Words& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    return checked(::redisCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                                      sizes.data()));
  }

  /// Waits for what the server sends by itself.
  Answer receive() {
    void* reply = nullptr;
    ::redisGetReply(context_.get(), &reply);
    return checked(reply);
  }

  /// The two scripts with the very bytes that Simba sends, one after the other. The token that the
  /// first answers is what the second needs.
  void acquire_and_release(const engine::LeaseRequest& request, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const auto token = acquire(request);
      call(
          redis::ScriptCall::release(request, token, redis::Topology::single, retention).by_hash());
    }
  }

  FencingToken acquire(const engine::LeaseRequest& request) {
    return token_in(call(redis::ScriptCall::acquire(request, {}, retention).by_hash()));
  }

  /// The same for many mutexes at once, with one script of each under way at any time, until
  /// `over()`. Returns how often both scripts have run.
  int acquire_and_release_all(const std::vector<engine::LeaseRequest>& requests,
                              const std::function<bool()>& over) {
    struct Call {
      const engine::LeaseRequest* request;
      bool acquires;
    };
    std::deque<Call> under_way;  // answered in this order
    const auto send_acquire = [&](const engine::LeaseRequest& request) {
      send(redis::ScriptCall::acquire(request, {}, retention).by_hash());
      under_way.push_back({.request = &request, .acquires = true});
    };
    for (const auto& request : requests) send_acquire(request);
    int pairs = 0;
    while (!under_way.empty()) {
      const auto answer = receive();
      const Call call = under_way.front();
      under_way.pop_front();
      if (call.acquires) {
        send(redis::ScriptCall::release(*call.request, token_in(answer), redis::Topology::single,
                                        retention)
                 .by_hash());
        under_way.push_back({.request = call.request, .acquires = false});
      } else {
        ++pairs;
        if (!over()) send_acquire(*call.request);
      }
    }
    return pairs;
  }

 private:
  static constexpr std::chrono::milliseconds retention = std::chrono::hours{24};

  static FencingToken token_in(const Answer& answer) {
    return std::stoull(answer->element[1]->str);
  }

  /// With what else is to be sent, when an answer is waited for.
  void send(const std::string& command) {
    ::redisAppendFormattedCommand(context_.get(), command.data(), command.size());
  }

  Answer call(const std::string& command) {
    send(command);
    return receive();
  }

  Answer checked(void* reply) const {
    if (reply == nullptr) throw std::runtime_error{context_->errstr};
    Answer answer{static_cast<redisReply*>(reply), &::freeReplyObject};
    if (answer->type == REDIS_REPLY_ERROR) throw std::runtime_error{answer->str};
    return answer;
  }

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

/// What clients have sent to a server, by its own count.
class RedisCounts {
 public:
  explicit RedisCounts(const support::Location& at) : console_{at} {}

  /// Those that no script of ours calls, so all of them came from clients.
  double commands() {
    const auto info = ask({"INFO", "commandstats"});
    double sum = 0;
    for (const auto* name : {"evalsha", "eval", "subscribe", "unsubscribe", "ping"}) {
      sum += calls(info, name);
    }
    return sum;
  }

  double scripts() { return calls(ask({"INFO", "commandstats"}), "evalsha"); }

  /// How often the server has read from a client other than this one.
  double reads() {
    const auto info = ask({"INFO", "stats"});
    return std::stod(support::info_value(info, "total_reads_processed")) - own_reads_;
  }

  /// Connections of Simba.
  double connections() {
    const auto list = ask({"CLIENT", "LIST"});
    double count = 0;
    for (auto at = list.find(" name=simba "); at != std::string::npos;
         at = list.find(" name=simba ", at + 1)) {
      ++count;
    }
    return count;
  }

  support::RedisConsole& console() { return console_; }

 private:
  std::string ask(const support::RedisConsole::Words& words) {
    ++own_reads_;
    return console_.value(words);
  }

  static double calls(const std::string& info, const std::string& command) {
    const auto value = support::info_value(info, "cmdstat_" + command);  // calls=12,usec=...
    return value.empty() ? 0 : std::stod(value.substr(value.find('=') + 1));
  }

  support::RedisConsole console_;
  double own_reads_ = 0;
};

/// Scripts a second by redis-benchmark, half of them acquire and half release, from `clients`
/// clients that each wait for their answer.
///
/// It sends the same arguments over and over, so it cannot give back the token that it was
/// answered. Hence one run acquires one mutex again and again, which does all that a first
/// acquisition does; the other releases mutexes that were made before, of which there are so many
/// that few come twice, with the name of a fence that is not there, which makes any token good.
class RedisBenchmark {
 public:
  RedisBenchmark(const support::Location& at, support::RedisConsole& console, int clients)
      : at_{at}, console_{console}, clients_{clients} {}

  double scripts_a_second() {
    const double acquires =
        run("EVALSHA " + redis::hash_of(redis::Script::acquire) +
            " 5 'simba:{b}' 'simba:{b}:fence' 'simba:{b}:contender' 'simba:{b}:line' "
            "'simba:{b}:waiters' me 10000 6000 - 0");
    console_.ask({"EVAL",
                  "for i = 0, ARGV[1] - 1 do redis.call('SET', string.format('simba:{%012d}', i), "
                  "'me', 'PX', 60000) end",
                  "0", std::to_string(mutexes)});
    const double releases =
        run("EVALSHA " + redis::hash_of(redis::Script::release) +
            " 5 'simba:{__rand_int__}' 'simba:{b}:none' 'simba:{b}:contender' 'simba:{b}:line' "
            "'simba:{b}:waiters' me 1 'simba:releases:{b}' single");
    console_.ask({"FLUSHALL"});
    return 2 / (1 / acquires + 1 / releases);
  }

 private:
  static constexpr int requests = 20'000;
  static constexpr int mutexes = 10 * requests;

  double run(const std::string& command) const {
    const std::string line = "redis-benchmark -h " + at_.host + " -p " + std::to_string(at_.port) +
                             " --user " + at_.user + " -a " + at_.password + " -c " +
                             std::to_string(clients_) + " -n " + std::to_string(requests) + " -r " +
                             std::to_string(mutexes) + " --csv " + command + " 2>&1";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe{::popen(line.c_str(), "r"), &::pclose};
    if (!pipe) throw std::runtime_error{"redis-benchmark could not be started"};
    std::string text;
    for (std::array<char, 4096> part{};;) {
      const auto size = std::fread(part.data(), 1, part.size(), pipe.get());
      if (size == 0) break;
      text.append(part.data(), size);
    }
    // A line of titles, then one with the command and its rate: "EVALSHA ...","12345.67",...
    const auto row = text.find("\"EVALSHA");
    const auto rate = row == std::string::npos ? row : text.find("\",\"", row);
    if (rate == std::string::npos) throw std::runtime_error{"redis-benchmark: " + text};
    return std::stod(text.substr(rate + 3));
  }

  const support::Location at_;
  support::RedisConsole& console_;
  const int clients_;
};

}  // namespace simba::bench
