#include "zookeeper/client/c_client.hpp"

#include <utility>

#include "core/log_exception.hpp"

namespace simba::zookeeper {

CClient::CClient(std::shared_ptr<CSession> session, std::shared_ptr<OnDemandThread> thread,
                 std::shared_ptr<Logger> log)
    : session_{std::move(session)}, thread_{std::move(thread)}, log_{std::move(log)} {}

CClient::~CClient() {
  close();
  if (fork_guard_.in_child()) detail::leak(session_);
}

void CClient::create(const std::string& path, const std::string& data, NodeKind kind,
                     CreateHandler handler) {
  session_->create(path, data, kind, std::move(handler));
}

void CClient::remove(const std::string& path, DoneHandler handler) {
  session_->remove(path, std::move(handler));
}

void CClient::children(const std::string& path, Watching watching, ChildrenHandler handler) {
  session_->children(path, watching, std::move(handler));
}

void CClient::get(const std::string& path, Watching watching, DataHandler handler) {
  session_->get(path, watching, std::move(handler));
}

void CClient::exists(const std::string& path, Watching watching, StatHandler handler) {
  session_->exists(path, watching, std::move(handler));
}

void CClient::sync(DoneHandler handler) { session_->sync(std::move(handler)); }

void CClient::close() {
  if (fork_guard_.in_child()) return;
  if (session_->close() == CSession::Closing::nothing_to_do) return;
  try {
    thread_->post([session = session_] { session->end(); });
  } catch (...) {
    detail::leak(session_);  // the library still has it
    detail::log_current_exception(*log_, "ZooKeeper: cannot start a thread to end a session");
  }
}

}  // namespace simba::zookeeper
