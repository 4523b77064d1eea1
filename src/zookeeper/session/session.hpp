#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>

#include "core/connect_gate.hpp"
#include "core/statistics/meters.hpp"
#include "simba/core/runtime.hpp"
#include "simba/core/time.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/session/strand.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// From when on the servers surely count our session: a local moment that lies before the last sign
/// of life that the leader of the servers has heard. A value without clock or threads.
///
/// The leader alone ends sessions. A server that is not the leader answers us by itself, and tells
/// the leader only twice a tick whom it has heard. If it is cut off from the leader, or dies, what
/// it has not told is lost. So an answer proves nothing by itself. It counts when a later request,
/// sent `settle` after it came, has gone to the leader and back through the same server: the
/// report was on the way before it. A reconnect counts at once, as the leader itself admits us.
class SessionEvidence {
 public:
  /// A new session, which we began to ask for at this moment.
  void begun(LocalTime asked_at, std::chrono::nanoseconds settle);

  /// A request that went to the leader has been answered. To be told in the order of the requests.
  void answered(LocalTime sent_at, LocalTime now);

  /// Connected again, within the same session.
  void reconnected();

  LocalTime counted_from() const noexcept { return counted_from_; }

 private:
  struct Sign {
    LocalTime sent_at;
    LocalTime answered_at;
  };

  std::chrono::nanoseconds settle_{0};
  LocalTime counted_from_ = LocalTime::min();
  std::deque<Sign> unproven_;
};

/// Hears how the session goes.
class SessionListener {
 public:
  virtual ~SessionListener() = default;

  virtual void session_begun() = 0;          ///< a new one
  virtual void session_suspended() = 0;      ///< the connection is lost; the session may live on
  virtual void session_resumed() = 0;        ///< connected again in time
  virtual void session_ended() = 0;          ///< all that it held is gone
  virtual void connecting_takes_long() = 0;  ///< those who wait should wait no longer
  virtual void session_ticked() = 0;         ///< some ten times in a session timeout, if connected
  virtual void node_changed(const NodeEvent& event) = 0;
};

/// Keeps a session with ZooKeeper: opens one at the first need, keeps it alive and knows how long
/// it surely lives, and opens a new one when it has ended.
///
///     idle --need()--> connecting --Connected--> connected <--> suspended
///       ^                  |                         |              |
///       +----- Failed -----+        connecting <-----+-- Expired ---+
///
/// Threads: everything, also what it tells and answers, happens in the strand.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<const Settings> settings, std::shared_ptr<Connector> connector,
          std::shared_ptr<const Runtime> runtime, std::shared_ptr<Strand> strand,
          SessionListener& listener);

  /// Someone wants something of ZooKeeper. Before each request.
  void need();

  bool connected() const noexcept { return state_ == State::connected; }

  /// Whether a request had better wait for `session_begun` or `connecting_takes_long`.
  bool worth_waiting_for() const noexcept { return state_ == State::connecting && !takes_long_; }

  /// Why nothing can be asked now. Only while not connected.
  Error trouble() const;

  std::int64_t id() const noexcept { return id_; }

  /// How long the servers keep the session from their last sign of life of us.
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

  /// See SessionEvidence.
  LocalTime counted_from() const noexcept { return evidence_.counted_from(); }

  LocalTime now() const { return runtime_->clock->now(); }

  /// Whether enough is left of the session, as far as it is proven, to begin an ownership.
  bool proven() const;

  // As in Client, but that a watch is left out where there are too many. What belongs to a session
  // that has ended is answered by nobody: see `session_ended`. Only while connected.
  void create(const std::string& path, const std::string& data, NodeKind kind,
              CreateHandler handler);
  void remove(const std::string& path, DoneHandler handler);
  void write(const NodeWrite& write, DoneHandler handler);
  void children(const std::string& path, Watching watching, ChildrenHandler handler);
  void get(const std::string& path, Watching watching, DataHandler handler);
  void exists(const std::string& path, Watching watching, StatHandler handler);
  void sync(DoneHandler handler);

  /// Creates the node and those above it, as far as they are missing. Whether they are there shows
  /// what is done next.
  void create_path(const std::string& path, DoneHandler handler);

  /// Whether the next change of this node will be told.
  bool watches(const std::string& path) const { return watched_.contains(path); }

  /// Ends it for good. Nothing is told or answered after it.
  void close();

 private:
  enum class State { idle, connecting, connected, suspended, closed };

  void open();
  void connection_opened() noexcept;
  void connection_ended() noexcept;
  void drop_client();
  void on_event(const ClientEvent& event);
  void on(const Connected& event);
  void on(const Disconnected& event);
  void on(const Expired& event);
  void on(const Failed& event);
  void on(const NodeEvent& event);

  void tick();
  void send_sign_of_life(LocalTime now);
  void arm();
  std::chrono::nanoseconds beat() const;

  /// Makes a handler of this session happen in the strand, if the session is still the same.
  template <class... Args>
  auto here(std::function<void(Args...)> handler);

  Watching affordable(const std::string& path, Watching wanted);
  void forget_watch(const std::string& path);
  void start_new_session(const std::string& why);
  void end_session();
  std::chrono::milliseconds checked_tick(std::chrono::milliseconds timeout) const;

  // constant after construction
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<Connector> connector_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<Strand> strand_;
  SessionListener& listener_;

  const std::shared_ptr<detail::ConnectionMeter> connections_;  // empty: they are not counted

  State state_ = State::idle;
  bool open_ = false;             // a connection, as far as they are counted
  std::uint64_t generation_ = 0;  // grows with every client
  std::shared_ptr<Client> client_;
  std::unique_ptr<Timer> timer_;
  detail::ConnectGate gate_;
  LocalTime opened_at_{};
  bool takes_long_ = false;
  std::int64_t id_ = 0;
  std::chrono::milliseconds timeout_{0};
  SessionEvidence evidence_;
  LocalTime next_beat_ = never;

  // The library names all of them in one request after each reconnect, which a server refuses, and
  // drops the connection, where it is longer than 1 MiB.
  std::unordered_set<std::string> watched_;
  std::size_t watched_bytes_ = 0;
  bool too_many_watches_ = false;  // told already

  LocalTime heard_at_{};  // when a sign of life was last answered
  int unheard_ = 0;       // connections since then that brought no answer
};

}  // namespace simba::zookeeper
