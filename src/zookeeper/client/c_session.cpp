#include "zookeeper/client/c_session.hpp"

#include <cerrno>
#include <chrono>
#include <iterator>
#include <pthread.h>
#include <utility>

#include "core/log_exception.hpp"
#include "zookeeper/client/c_library.hpp"

namespace simba::zookeeper {
namespace {

using namespace std::chrono_literals;

/// How long what is under way may still take when the session is closed.
constexpr auto grace = 200ms;

int flag_of(Watching watching) { return watching == Watching::yes ? 1 : 0; }

// What each kind of handler is told where there is nothing but a code. (A DataHandler is of the
// same type as a CreateHandler.)
void answer(const DoneHandler& handler, Code code) { handler(code); }
void answer(const CreateHandler& handler, Code code) { handler(code, {}, {}); }
void answer(const ChildrenHandler& handler, Code code) { handler(code, {}); }
void answer(const StatHandler& handler, Code code) { handler(code, {}); }
void answer(const AccessHandler& handler, Code code) { handler(code, false); }

}  // namespace

CSession::CSession(std::shared_ptr<const Settings> settings, EventHandler on_event,
                   std::shared_ptr<detail::OnDemandThread> thread, std::shared_ptr<Logger> log)
    : settings_{std::move(settings)},
      thread_{std::move(thread)},
      log_{std::move(log)},
      on_event_{std::move(on_event)} {}

// ---- Its life --------------------------------------------------------------------------------

std::shared_ptr<Client> CSession::begin(std::shared_ptr<const Settings> settings,
                                        EventHandler on_event,
                                        std::shared_ptr<detail::OnDemandThread> thread,
                                        std::shared_ptr<Logger> log) {
  auto session = std::make_shared<CSession>(std::move(settings), std::move(on_event),
                                            std::move(thread), std::move(log));
  try {
    session->thread_->post([session] { session->open(); });
  } catch (...) {
    session->close();  // the job stays queued: it must not open what nobody closes
    throw;
  }
  Client* const client = session.get();
  return {client, [session = std::move(session)](Client*) {
            session->close();
            if (session->fork_guard_.in_child()) detail::leak(session);
          }};
}

void CSession::open() {
  if (closed_before_opening()) return end();
  errno = 0;
  zhandle_t* const handle = open_handle(*settings_, &on_watch, this);
  const int reason = errno;
  if (handle != nullptr) credentials_added_ = add_credentials(handle, *settings_);
  bool closed = false;
  {
    const std::lock_guard lock{mutex_};
    handle_ = handle;
    state_ = handle != nullptr ? State::open : State::failed;
    closed = closed_;
  }
  opened_.count_down();
  if (closed) {
    end();
  } else if (handle == nullptr) {
    tell(Failed{error_of_opening(*settings_, reason)});
  }
}

bool CSession::closed_before_opening() {
  const std::lock_guard lock{mutex_};
  return closed_;
}

void CSession::close() {
  if (fork_guard_.in_child()) return;
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(closed_, true) || state_ == State::opening) return;  // `open` ends it
  }
  try {
    thread_->post([self = shared_from_this()] { self->end(); });
  } catch (...) {
    detail::leak(shared_from_this());  // the library still has it
    detail::log_current_exception(*log_, "ZooKeeper: cannot start a thread to end a session");
  }
}

void CSession::end() {
  zhandle_t* handle = nullptr;
  {
    std::unique_lock lock{mutex_};
    handle = std::exchange(handle_, nullptr);
    // The library may forget what is under way when it is closed, and never free it.
    if (handle != nullptr) answered_.wait_for(lock, grace, [&] { return requests_.empty(); });
  }
  if (handle != nullptr) ::zookeeper_close(handle);
  std::list<Request> left;
  {
    const std::lock_guard lock{mutex_};
    left.swap(requests_);
  }
  for (const Request& request : left) {
    std::visit([&](const auto& handler) { fail(handler, Code::closing); }, request.handler);
  }
  on_event_ = nullptr;  // which may hold the client
}

// ---- Requests --------------------------------------------------------------------------------

void CSession::create(const std::string& path, const std::string& data, NodeKind kind,
                      CreateHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return create_node(
        handle, path, data, kind, settings_->acl,
        [](int code, const char* name, const Stat* stat, const void* request) {
          on_answer<CreateHandler>(request, [&](const CreateHandler& told) {
            told(code_of(code), text_of(name), stat_of(stat));
          });
        },
        context);
  });
}

void CSession::remove(const std::string& path, DoneHandler handler) {
  constexpr int any_version = -1;
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return ::zoo_adelete(
        handle, path.c_str(), any_version,
        [](int code, const void* request) {
          on_answer<DoneHandler>(request, [&](const DoneHandler& told) { told(code_of(code)); });
        },
        context);
  });
}

void CSession::write(const NodeWrite& write, DoneHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return write_node(
        handle, write, settings_->acl, context->results,
        [](int code, const void* request) {
          on_answer<DoneHandler>(request, [&](const DoneHandler& told) { told(code_of(code)); });
        },
        context);
  });
}

void CSession::children(const std::string& path, Watching watching, ChildrenHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return ::zoo_aget_children(
        handle, path.c_str(), flag_of(watching),
        [](int code, const String_vector* names, const void* request) {
          on_answer<ChildrenHandler>(
              request, [&](const ChildrenHandler& told) { told(code_of(code), names_of(names)); });
        },
        context);
  });
}

void CSession::get(const std::string& path, Watching watching, DataHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return ::zoo_aget(
        handle, path.c_str(), flag_of(watching),
        [](int code, const char* data, int length, const Stat* stat, const void* request) {
          on_answer<DataHandler>(request, [&](const DataHandler& told) {
            told(code_of(code), data_of(data, length), stat_of(stat));
          });
        },
        context);
  });
}

void CSession::exists(const std::string& path, Watching watching, StatHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return ::zoo_aexists(
        handle, path.c_str(), flag_of(watching),
        [](int code, const Stat* stat, const void* request) {
          on_answer<StatHandler>(
              request, [&](const StatHandler& told) { told(code_of(code), stat_of(stat)); });
        },
        context);
  });
}

void CSession::access(const std::string& path, AccessHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return ::zoo_aget_acl(
        handle, path.c_str(),
        [](int code, ACL_vector* entries, Stat* /*stat*/, const void* request) {
          on_answer<AccessHandler>(request, [&](const AccessHandler& told) {
            told(code_of(code), open_to_all(entries));
          });
        },
        context);
  });
}

void CSession::sync(DoneHandler handler) {
  request(std::move(handler), [&](zhandle_t* handle, Request* context) {
    return ::zoo_async(
        handle, "/",
        [](int code, const char* /*path*/, const void* request) {
          on_answer<DoneHandler>(request, [&](const DoneHandler& told) { told(code_of(code)); });
        },
        context);
  });
}

/// The library's calls are made under the lock: a handle must not be closed meanwhile.
template <typename Handler, typename Send>
void CSession::request(Handler handler, const Send& send) {
  if (fork_guard_.in_child()) return fail(handler, Code::closing);
  Code code = Code::connection_loss;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) {
      code = Code::closing;
    } else if (state_ == State::failed) {
      code = Code::session_expired;
    } else if (state_ == State::open) {
      Request& request = requests_.emplace_back(Request{this, std::move(handler)});
      request.place = std::prev(requests_.end());
      const int refusal = send(handle_, &request);
      if (refusal == ZOK) return;
      code = code_of(refusal);
      handler = std::get<Handler>(std::move(request.handler));
      std::get<Handler>(request.handler) = nullptr;
      // With this code the library may have kept the request although it had no memory for all.
      if (refusal != ZMARSHALLINGERROR) requests_.erase(request.place);
    }
  }
  fail(handler, code);
}

template <typename Handler, typename Tell>
void CSession::on_answer(const void* context, const Tell& tell) {
  const auto& request = *static_cast<const Request*>(context);
  CSession& session = *request.session;
  std::list<Request> taken;
  {
    const std::lock_guard lock{session.mutex_};
    taken.splice(taken.end(), session.requests_, request.place);
    if (session.closed_ && session.requests_.empty()) session.answered_.notify_all();
  }
  const auto* handler = std::get_if<Handler>(&request.handler);
  if (handler != nullptr && *handler) {
    session.call_user([&] { tell(*handler); });
  }
  session.leave_in_child();
}

template <typename Handler>
void CSession::fail(const Handler& handler, Code code) noexcept {
  if (handler) call_user([&] { answer(handler, code); });
}

// ---- Events ----------------------------------------------------------------------------------

void CSession::on_watch(zhandle_t* /*handle*/, int type, int state, const char* path,
                        void* context) {
  auto& session = *static_cast<CSession*>(context);
  session.opened_.wait();
  if (type == ZOO_SESSION_EVENT) {
    session.handle_session_event(state);
  } else {
    session.handle_node_event(type, path);
  }
  session.leave_in_child();
}

void CSession::handle_session_event(int state) {
  if (over_) return;
  zhandle_t* handle = nullptr;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    handle = handle_;  // not freed before this thread has ended
  }
  if (state == ZOO_CONNECTED_STATE) {
    if (!credentials_added_) credentials_added_ = add_credentials(handle, *settings_);
    if (!credentials_added_) return;  // the connection is lost again
    if (std::exchange(connected_, true)) tell(Disconnected{});
    tell(Connected{.session = ::zoo_client_id(handle)->client_id,
                   .timeout = std::chrono::milliseconds{::zoo_recv_timeout(handle)}});
  } else if (state == ZOO_EXPIRED_SESSION_STATE) {
    over_ = true;
    tell(Expired{});
  } else if (state == ZOO_AUTH_FAILED_STATE) {
    over_ = true;
    tell(Failed{error_of_authentication(*settings_)});
  } else if (std::exchange(connected_, false)) {
    tell(Disconnected{});
  }
}

void CSession::handle_node_event(int type, const char* path) {
  using Kind = NodeEvent::Kind;
  if (over_ || path == nullptr) return;
  if (type == ZOO_CREATED_EVENT) {
    tell(NodeEvent{Kind::created, path});
  } else if (type == ZOO_DELETED_EVENT) {
    tell(NodeEvent{Kind::removed, path});
  } else if (type == ZOO_CHANGED_EVENT) {
    tell(NodeEvent{Kind::changed, path});
  } else if (type == ZOO_CHILD_EVENT) {
    tell(NodeEvent{Kind::children, path});
  }
}

void CSession::tell(const ClientEvent& event) {
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
  }
  if (on_event_) call_user([&] { on_event_(event); });
}

// ---- Calls of what others wrote ----------------------------------------------------------------

/// Nothing may be thrown through the library's frames.
template <typename Call>
void CSession::call_user(const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    detail::log_current_exception(*log_, "ZooKeeper: a handler threw");
  }
}

/// A handler has forked, on the library's thread: the child has no use for the rest of it.
void CSession::leave_in_child() const {
  if (fork_guard_.in_child()) ::pthread_exit(nullptr);
}

}  // namespace simba::zookeeper
