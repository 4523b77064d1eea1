#pragma once

#include <memory>
#include <string>

#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"
#include "zookeeper/client/c_session.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/client/on_demand_thread.hpp"

namespace simba::zookeeper {

/// A client over the C library, with no thread but the library's two. Its destructor closes it.
class CClient final : public Client {
 public:
  CClient(std::shared_ptr<CSession> session, std::shared_ptr<OnDemandThread> thread,
          std::shared_ptr<Logger> log);
  ~CClient() override;
  CClient(const CClient&) = delete;
  CClient& operator=(const CClient&) = delete;

  void create(const std::string& path, const std::string& data, NodeKind kind,
              CreateHandler handler) override;
  void remove(const std::string& path, DoneHandler handler) override;
  void children(const std::string& path, Watching watching, ChildrenHandler handler) override;
  void get(const std::string& path, Watching watching, DataHandler handler) override;
  void exists(const std::string& path, Watching watching, StatHandler handler) override;
  void sync(DoneHandler handler) override;
  void close() override;

 private:
  // constant after construction
  const std::shared_ptr<CSession> session_;
  const std::shared_ptr<OnDemandThread> thread_;  // that ends the session
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;
};

}  // namespace simba::zookeeper
