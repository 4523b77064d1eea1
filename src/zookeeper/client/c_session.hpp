#pragma once

#include <condition_variable>
#include <functional>
#include <latch>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <variant>
#include <zookeeper/zookeeper.h>

#include "core/threads/on_demand_thread.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"
#include "zookeeper/client/c_library.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// A client over the C library: one handle, and what the library owes to us. What blocks is in
/// `open` and `end`, which run one after the other on a thread that may wait; the library brings
/// two threads of its own, and calls us on one of them.
///
/// Lifetime: outlives its handle, so it must be closed; `begin` sees to that. In a forked child
/// nothing of it may be touched, and requests are answered `closing`.
class CSession final : public Client, public std::enable_shared_from_this<CSession> {
 public:
  /// Begins a session. The client is closed when nobody holds it any more. Throws std::system_error
  /// if the system gives `thread` no thread.
  static std::shared_ptr<Client> begin(std::shared_ptr<const Settings> settings,
                                       EventHandler on_event,
                                       std::shared_ptr<detail::OnDemandThread> thread,
                                       std::shared_ptr<Logger> log);

  CSession(std::shared_ptr<const Settings> settings, EventHandler on_event,
           std::shared_ptr<detail::OnDemandThread> thread, std::shared_ptr<Logger> log);
  CSession(const CSession&) = delete;
  CSession& operator=(const CSession&) = delete;

  void create(const std::string& path, const std::string& data, NodeKind kind,
              CreateHandler handler) override;
  void remove(const std::string& path, DoneHandler handler) override;
  void write(const NodeWrite& write, DoneHandler handler) override;
  void children(const std::string& path, Watching watching, ChildrenHandler handler) override;
  void get(const std::string& path, Watching watching, DataHandler handler) override;
  void exists(const std::string& path, Watching watching, StatHandler handler) override;
  void access(const std::string& path, AccessHandler handler) override;
  void sync(DoneHandler handler) override;
  void close() override;

 private:
  using AnyHandler =
      std::variant<DoneHandler, CreateHandler, ChildrenHandler, StatHandler, AccessHandler>;
  static_assert(std::is_same_v<CreateHandler, DataHandler>);  // so it is in there as well
  struct Request {
    CSession* session = nullptr;
    AnyHandler handler{};
    std::list<Request>::iterator place{};
    WriteResults results{};
  };
  enum class State { opening, open, failed };

  // What the library calls.
  static void on_watch(zhandle_t* handle, int type, int state, const char* path, void* context);
  template <typename Handler, typename Tell>
  static void on_answer(const void* context, const Tell& tell);

  /// Opens the handle. Ends it, too, where `close` came meanwhile.
  void open();
  /// Ends the session, with all that is under way, and waits for the library's threads.
  void end();
  bool closed_before_opening();
  template <typename Handler, typename Send>
  void request(Handler handler, const Send& send);
  void handle_session_event(int state);
  void handle_node_event(int type, const char* path);
  void tell(const ClientEvent& event);
  template <typename Call>
  void call_user(const Call& call) noexcept;
  template <typename Handler>
  void fail(const Handler& handler, Code code) noexcept;
  void leave_in_child() const;

  // constant after construction
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<detail::OnDemandThread> thread_;  // that opens and ends the session
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;

  std::latch opened_{1};  // the library may tell something before it has given us the handle

  // used by one thread at a time: that of `open`, then the one that the library calls us on, then
  // that of `end`
  EventHandler on_event_;
  bool credentials_added_ = false;
  bool connected_ = false;
  bool over_ = false;

  std::mutex mutex_;
  std::condition_variable answered_;  // all requests, after `close`
  // guarded by mutex_
  State state_ = State::opening;
  bool closed_ = false;
  zhandle_t* handle_ = nullptr;  // not null while open and not ended
  std::list<Request> requests_;  // that are under way; the library has pointers to them
};

}  // namespace simba::zookeeper
