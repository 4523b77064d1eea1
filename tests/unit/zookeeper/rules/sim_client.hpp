#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unit/zookeeper/rules/network.hpp"
#include "zookeeper/client/client.hpp"

namespace simba::zookeeper::rules {

/// A session as Client promises it, over the simulated network: pings when it has been idle for a
/// third of the session time-out, gives a connection up that has been silent for two thirds, and
/// looks for another server by itself.
class SimClient final : public Client, public std::enable_shared_from_this<SimClient> {
 public:
  SimClient(Network& network, std::shared_ptr<Host> host, EventHandler on_event);

  void begin() { look_later(); }

  void create(const std::string& path, const std::string& data, NodeKind kind,
              CreateHandler handler) override;
  void remove(const std::string& path, DoneHandler handler) override;
  void write(const NodeWrite& write, DoneHandler handler) override;
  void children(const std::string& path, Watching watching, ChildrenHandler handler) override;
  void get(const std::string& path, Watching watching, DataHandler handler) override;
  void exists(const std::string& path, Watching watching, StatHandler handler) override;
  void access(const std::string& /*path*/, AccessHandler handler) override {
    handler(Code::unimplemented, false);
  }
  void sync(DoneHandler handler) override;
  void close() override;

  /// Answers what is still under way when it has been closed.
  void finish();
  bool connected() const noexcept { return state_ == State::connected; }

 private:
  enum class State { looking, connecting, connected, expired, closed };
  using Done = std::function<void(const Say&)>;
  struct Pending {
    Ask ask;
    Done done;
    bool sent = false;
  };

  void submit(Ask ask, Done done);
  void send(const Ask& ask);
  void look_later();
  void look();
  void heard(const Say& say);
  void welcomed(const Say& say);
  void answered(const Say& say);
  void remember_watch(const Ask& ask, Code code);
  void lose_line(bool queued_too);
  void fail_pending(Code code, bool queued_too);
  void expire();
  void watch_the_time(std::uint64_t lines);
  void tell(const ClientEvent& event);
  LocalTime now() const { return network_.world().now(); }

  Network& network_;
  const std::shared_ptr<Host> host_;
  EventHandler on_event_;
  State state_ = State::looking;
  std::shared_ptr<Line> line_;
  std::uint64_t lines_ = 0;  // so far
  std::size_t last_server_ = 0;
  std::int64_t session_ = 0;
  std::int64_t zxid_ = 0;
  std::chrono::nanoseconds timeout_;
  LocalTime sent_at_{};
  LocalTime heard_at_{};
  bool told_connected_ = false;
  std::deque<Pending> pending_;
  Watches watches_;
};

class SimConnector final : public Connector {
 public:
  SimConnector(Network& network, std::shared_ptr<Host> host)
      : network_{network}, host_{std::move(host)} {}

  std::shared_ptr<Client> connect(EventHandler on_event) override;
  void wait_until_closed() override;

 private:
  Network& network_;
  const std::shared_ptr<Host> host_;
  std::vector<std::weak_ptr<SimClient>> clients_;
};

}  // namespace simba::zookeeper::rules
