#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/location.hpp"

struct redisContext;

namespace simba::support {

/// What a Redis server has answered or sent.
struct RedisAnswer {
  std::string text{};  ///< of a string or status, and a number in digits
  bool nil = false;
  std::vector<RedisAnswer> items{};  ///< of an array

  /// The texts of the items.
  std::vector<std::string> texts() const;
};

/// A plain connection to a Redis server for a test's own commands, to look and to do harm. Not for
/// TLS: there the Unix socket is the way in.
///
/// Every function throws std::runtime_error where the server answers with an error, ends the
/// connection or says nothing within ten seconds. After the latter two it is of no use any more.
///
/// Threads: used by one thread at a time.
class RedisConsole {
 public:
  using Words = std::vector<std::string>;

  /// By the Unix socket where the location names one, else by its port; as the user "admin", who
  /// may do everything.
  explicit RedisConsole(const Location& location);

  /// The same on another port of 127.0.0.1, e.g. of another node of the group.
  RedisConsole(const Location& location, std::uint16_t port);

  /// As another user of the server.
  RedisConsole(const Location& location, std::uint16_t port, const std::string& user);

  /// A Unix socket, as "admin".
  RedisConsole(const std::string& socket, const std::string& password);

  ~RedisConsole();
  RedisConsole(const RedisConsole&) = delete;
  RedisConsole& operator=(const RedisConsole&) = delete;

  /// One command and its answer.
  RedisAnswer ask(const Words& words);

  /// The text of the answer; "nil" where there is none.
  std::string value(const Words& words);

  /// A command whose answer is not waited for.
  void send(const Words& words);

  /// What the server sends next, such as a message to a subscriber; empty: nothing within `span`.
  std::optional<RedisAnswer> receive(std::chrono::milliseconds span);

 private:
  struct Close {
    void operator()(redisContext* context) const noexcept;
  };

  void log_in(const std::string& user, const std::string& password);

  std::unique_ptr<redisContext, Close> context_;
};

/// The value of "<key>:" in the lines of INFO and its like; empty where it is not there.
std::string info_value(std::string_view info, std::string_view key);

}  // namespace simba::support
