#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/connection/connection.hpp"
#include "redis/connection/dialer.hpp"
#include "redis/protocol/reply.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {

inline Reply text_reply(std::string text) {
  return Reply{.type = Reply::Type::string, .text = std::move(text)};
}
inline Reply status_reply(std::string text) {
  return Reply{.type = Reply::Type::status, .text = std::move(text)};
}
inline Reply error_reply(std::string text) {
  return Reply{.type = Reply::Type::error, .text = std::move(text)};
}
inline Reply integer_reply(std::int64_t integer) {
  return Reply{.type = Reply::Type::integer, .integer = integer};
}
inline Reply array_reply(std::vector<Reply> elements) {
  return Reply{.type = Reply::Type::array, .elements = std::move(elements)};
}
inline Reply nil_reply() { return Reply{}; }

/// A connection whose server is the test. It behaves as Connection promises, but that handlers and
/// events are called inside the call that causes them. For one thread.
class FakeConnection final : public Connection {
 public:
  FakeConnection(Endpoint server, std::shared_ptr<const ConnectionSettings> how, Use what_for,
                 Events events)
      : endpoint{std::move(server)},
        settings{std::move(how)},
        use{what_for},
        events_{std::move(events)} {}

  // constant after construction
  const Endpoint endpoint;
  const std::shared_ptr<const ConnectionSettings> settings;
  const Use use;

  // ---- What its user does ------------------------------------------------------------------
  void send(std::string commands, std::size_t replies, RepliesHandler handler) override {
    if (closed_) {
      if (handler) handler(Error{ErrorKind::unavailable, "the connection is closed"});
      return;
    }
    for (std::string& line : lines_of(commands)) sent_.push_back(std::move(line));
    if (replies > 0) requests_.push_back({replies, std::move(handler)});
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    const auto self = shared_from_this();  // a handler may let go of it
    events_ = {};
    refuse_requests("the connection was closed");
  }

  // ---- What the test sees ------------------------------------------------------------------
  /// Every command since the last call, its words with a space between.
  std::vector<std::string> take_sent() { return std::exchange(sent_, {}); }

  /// The requests without an answer.
  std::size_t pending() const noexcept { return requests_.size(); }

  /// How many replies the oldest of them waits for.
  std::size_t wanted() const { return requests_.at(0).replies; }

  /// Closed by its user, or failed.
  bool closed() const noexcept { return closed_; }

  // ---- What the test does ------------------------------------------------------------------
  void become_ready() {
    if (closed_) return;
    const auto self = shared_from_this();
    ready_ = true;
    if (const auto on_ready = events_.on_ready) on_ready();
  }

  /// Answers the oldest request. As many replies as it waits for, of which the test must take care.
  void answer(std::vector<Reply> replies) {
    const auto self = shared_from_this();
    const Request request = std::move(requests_.at(0));
    requests_.pop_front();
    request.handler(Replies{std::move(replies)});
  }
  void answer(Reply reply) { answer(std::vector<Reply>{std::move(reply)}); }

  /// The oldest request gets an error, e.g. `timeout`, and the connection lives on.
  void refuse(const Error& error) {
    const auto self = shared_from_this();
    const Request request = std::move(requests_.at(0));
    requests_.pop_front();
    request.handler(error);
  }

  void message(const Reply& reply) {
    if (closed_) return;
    const auto self = shared_from_this();
    if (const auto on_message = events_.on_message) on_message(reply);
  }

  /// Lets go of everyone without a word: they may hold this connection.
  void forget() {
    const auto requests = std::exchange(requests_, {});
    const auto events = std::exchange(events_, {});
  }

  /// It breaks, or cannot be made.
  void fail(const Error& error) {
    if (std::exchange(closed_, true)) return;
    const auto self = shared_from_this();
    const auto on_closed = std::exchange(events_, {}).on_closed;
    refuse_requests(error.what());
    if (on_closed) on_closed(error);
  }

 private:
  struct Request {
    std::size_t replies = 0;
    RepliesHandler handler{};
  };

  /// What was sent before it was ready never went out.
  void refuse_requests(const std::string& why) {
    const Error error{ready_ ? ErrorKind::in_doubt : ErrorKind::unavailable, why};
    for (const Request& request : std::exchange(requests_, {})) request.handler(error);
  }

  /// Commands as they are encoded, as lines to read.
  static std::vector<std::string> lines_of(std::string_view commands) {
    const auto number = [&commands] {
      const std::size_t end = commands.find("\r\n");
      const int value = std::stoi(std::string{commands.substr(1, end - 1)});
      commands.remove_prefix(end + 2);
      return static_cast<std::size_t>(value);
    };
    std::vector<std::string> lines;
    while (!commands.empty()) {
      std::string& line = lines.emplace_back();
      for (std::size_t words = number(); words > 0; --words) {
        const std::size_t length = number();
        if (!line.empty()) line += ' ';
        line += commands.substr(0, length);
        commands.remove_prefix(length + 2);
      }
    }
    return lines;
  }

  Events events_;
  bool ready_ = false;
  bool closed_ = false;
  std::vector<std::string> sent_;
  std::deque<Request> requests_;
};

/// Every connection that was opened, the oldest first.
class FakeConnections {
 public:
  FakeConnections() = default;
  ~FakeConnections() {
    for (const auto& connection : opened) connection->forget();
  }
  FakeConnections(const FakeConnections&) = delete;
  FakeConnections& operator=(const FakeConnections&) = delete;

  /// For the one under test; it must not be used when this object is gone.
  OpenConnection opener() {
    return [this](Endpoint endpoint, std::shared_ptr<const ConnectionSettings> settings,
                  Connection::Use use, Connection::Events events) {
      auto connection = std::make_shared<FakeConnection>(std::move(endpoint), std::move(settings),
                                                         use, std::move(events));
      opened.push_back(connection);
      if (on_open) on_open(*connection);
      return connection;
    };
  }

  FakeConnection& last() { return *opened.back(); }

  /// How many are neither closed nor broken.
  std::size_t alive() const {
    std::size_t count = 0;
    for (const auto& connection : opened) count += connection->closed() ? 0U : 1U;
    return count;
  }

  std::vector<std::shared_ptr<FakeConnection>> opened;

  /// Called with each new connection before anyone else has it, e.g. to let it fail at once.
  std::function<void(FakeConnection&)> on_open{};
};

}  // namespace simba::redis
