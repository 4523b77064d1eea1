#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/threads/event_loop.hpp"
#include "redis/connection/connection.hpp"
#include "redis/protocol/command.hpp"
#include "simba/core/log.hpp"
#include "support/patience.hpp"

namespace simba::redis {

/// What a connection told, in order: "ready", "message ...", "reply ...", "error <kind>", "closed".
class Told {
 public:
  void add(std::string line) {
    const std::lock_guard lock{mutex_};
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock{mutex_};
    return lines_;
  }
  bool eventually(const std::vector<std::string>& wanted) const {
    support::eventually([&] { return lines().size() >= wanted.size(); });
    EXPECT_EQ(lines(), wanted);
    return lines() == wanted;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline std::string describe(const Replies& replies) {
  if (const auto* error = std::get_if<Error>(&replies)) {
    return "error " + std::string{to_string(error->kind())};
  }
  std::string line = "reply";
  for (const Reply& reply : std::get<std::vector<Reply>>(replies)) {
    line += ' ' + (reply.is(Reply::Type::integer) ? std::to_string(reply.integer) : reply.text);
  }
  return line;
}

/// Time-outs that no stall of the machine meets.
inline ConnectionSettings patient() {
  ConnectionSettings settings;
  settings.connect_timeout = std::chrono::seconds{60};
  settings.command_timeout = std::chrono::seconds{60};
  return settings;
}

/// A connection and the thread that it lives on. What it tells is in `told`.
class Client {
 public:
  explicit Client(Endpoint endpoint, ConnectionSettings settings = patient(),
                  Connection::Use use = Connection::Use::commands)
      : connection_{Connection::open(io_.loop(), std::move(endpoint),
                                     std::make_shared<const ConnectionSettings>(settings), use,
                                     events())} {}
  ~Client() {
    connection_->close();
    io_.stop();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Connection& operator*() const noexcept { return *connection_; }
  Connection* operator->() const noexcept { return connection_.get(); }

  /// Sends and tells the outcome.
  void ask(std::string commands, std::size_t replies = 1) {
    connection_->send(std::move(commands), replies,
                      [&told = told](const Replies& answer) { told.add(describe(answer)); });
  }

  /// Why it was closed. Waits for it.
  Error closed() const {
    support::eventually([&] { return cause().has_value(); });
    return cause().value_or(Error{ErrorKind::illegal_state, "it was not closed"});
  }
  std::optional<Error> cause() const {
    const std::lock_guard lock{mutex_};
    return cause_;
  }
  detail::LoopThread& io() noexcept { return io_; }

  Told told{};

 private:
  Connection::Events events() {
    Connection::Events events;
    events.on_ready = [this] { told.add("ready"); };
    events.on_message = [this](const Reply& reply) { told.add("message " + reply.text); };
    events.on_closed = [this](const Error& error) {
      told.add("closed");
      const std::lock_guard lock{mutex_};
      cause_ = error;
    };
    return events;
  }

  mutable std::mutex mutex_;
  std::optional<Error> cause_;
  detail::LoopThread io_{"simba-redis", "a task threw", std::make_shared<detail::ThreadGroup>(),
                         make_null_logger()};
  std::shared_ptr<Connection> connection_;
};

}  // namespace simba::redis
