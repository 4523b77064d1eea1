#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redis/connection/connection.hpp"
#include "unit/redis/rules/network.hpp"

namespace simba::redis::rules {

/// A connection as Connection promises it, over the simulated network.
class SimConnection final : public Connection {
 public:
  SimConnection(Network& network, std::shared_ptr<Host> host,
                std::shared_ptr<const ConnectionSettings> settings, Use use, Events events);

  void begin();

  void send(std::string commands, std::size_t replies, RepliesHandler handler) override;
  void close() override;

  // ---- faults
  const Host& host() const noexcept { return *host_; }
  Use use() const noexcept { return use_; }
  bool closed() const noexcept { return state_ == State::closed; }
  void hold_until(bool up, bool down, LocalTime until);

  /// The server's end goes now, this end after `later`; what is on its way is lost.
  void break_at_server(std::chrono::nanoseconds later);
  /// This end goes now; the server still gets what is on its way, and hears of it `later`.
  void break_here(std::chrono::nanoseconds later);
  const std::shared_ptr<Client>& client() const noexcept { return client_; }

 private:
  enum class State { opening, ready, closed };
  enum Direction : std::size_t { up, down };
  struct Request {
    std::string commands{};
    std::size_t replies = 0;
    RepliesHandler handler{};
    LocalTime since{};  // of the process's clock
    bool sent = false;
    std::vector<Reply> got{};
  };

  std::shared_ptr<SimConnection> self() {
    return std::static_pointer_cast<SimConnection>(shared_from_this());
  }
  LocalTime local_now() const { return host_->runtime->clock->now(); }
  LocalTime arrival(Direction direction);
  void to_server(std::function<void()> what);
  void to_host(std::function<void(SimConnection&)> what);
  void flush();
  void become_ready();
  void receive(const Reply& reply);
  void watch(LocalTime since);
  void look_at_time(LocalTime since, bool again);
  void fail(const Error& cause);
  void finish(const Error& cause, bool tell);

  Network& network_;
  const std::shared_ptr<Host> host_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const Use use_;
  Events events_;
  std::chrono::nanoseconds lag_;
  const std::shared_ptr<Client> client_ = std::make_shared<Client>();
  State state_ = State::opening;
  bool silent_ = false;  // the server does not hear of its end by itself
  std::deque<Request> requests_;
  std::array<LocalTime, 2> last_{LocalTime::min(), LocalTime::min()};
  std::array<LocalTime, 2> held_{LocalTime::min(), LocalTime::min()};
};

/// The commands in what was encoded for a server.
std::vector<Words> decode(std::string_view commands);

}  // namespace simba::redis::rules
