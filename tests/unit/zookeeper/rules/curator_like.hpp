#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unit/rules/stranger.hpp"
#include "unit/zookeeper/rules/sim_client.hpp"

namespace simba::zookeeper::rules {

/// A contender that does what Curator's LeaderLatch does and knows nothing of ours: leads when its
/// node is the lowest, not while it is disconnected, and begins anew after that.
class CuratorLike final : public simba::rules::Stranger,
                          public std::enable_shared_from_this<CuratorLike> {
 public:
  CuratorLike(Network& network, std::string name, std::string mutex);

  void start() override;
  void stop() override;
  bool running() const noexcept override { return running_; }
  /// One that is closed before it is connected may leave a session behind, which matters in calm.
  bool may_stop() const noexcept override {
    return network_.world().rough || waiting_since() != never;
  }
  /// Since when it has had its node.
  LocalTime waiting_since() const noexcept { return path_.empty() ? never : waiting_since_; }

  /// By its own account, which may be late: it does not watch its own node.
  bool leads() const noexcept { return running_ && leads_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& id() const noexcept { return id_; }
  const std::string& mutex() const noexcept { return mutex_; }
  Host& host() const noexcept override { return *host_; }

 private:
  void open();
  void happened(const ClientEvent& event);
  void begin_anew();
  void create_parents();
  void create();
  void look();
  void looked(const std::vector<std::string>& names);
  /// Runs it unless another life or connection has begun since.
  template <typename Function>
  auto mine(Function what);

  Network& network_;
  const std::shared_ptr<Host> host_;
  const std::shared_ptr<SimConnector> connector_;
  const std::string mutex_;
  const std::string folder_;
  std::shared_ptr<Client> client_;
  std::string id_;
  int lives_ = 0;
  std::uint64_t turn_ = 0;  // grows when answers under way do not matter any more
  bool running_ = false;
  LocalTime waiting_since_ = never;
  bool leads_ = false;
  std::string mark_;  // in the names of all nodes of this session
  std::string path_;
  std::string before_;  // the node that is watched
};

/// The number at the end of a node that counts, or -1.
std::int64_t sequence_of(const std::string& name);

}  // namespace simba::zookeeper::rules
