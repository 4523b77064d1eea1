#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "support/redis/redis_client_options.hpp"
#include "support/redis/redis_console.hpp"

/// What the tests on a real Redis server share.
namespace simba::redis::test {

using namespace std::chrono_literals;
using Console = support::RedisConsole;

/// A text that no other test of this run has.
inline std::string unique(const std::string& prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}-{}-{}", prefix, ::getpid(), ++count);
}

// The names of the protocol.
inline std::string owner_key(const std::string& mutex) { return "simba:{" + mutex + "}"; }
inline std::string queue_key(const std::string& mutex) { return owner_key(mutex) + ":contender"; }
inline std::string line_key(const std::string& mutex) { return owner_key(mutex) + ":line"; }
inline std::string channel_of(const std::string& mutex) { return owner_key(mutex); }
inline std::string channel_of(const std::string& mutex, const std::string& contender_id) {
  return owner_key(mutex) + ":" + contender_id;
}

}  // namespace simba::redis::test
