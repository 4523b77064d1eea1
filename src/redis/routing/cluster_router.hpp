#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "redis/connection/connection.hpp"
#include "redis/routing/cluster_map.hpp"
#include "redis/routing/router.hpp"
#include "simba/core/runtime.hpp"

namespace simba::redis {

/// Knows which node of a cluster serves which slot. It begins with the nodes it was told of, learns
/// from their referrals, and asks for the whole map when something has changed. Of the nodes that
/// are not in the map it keeps at most 16, besides those that a request is under way at.
class ClusterRouter final : public Router, public std::enable_shared_from_this<ClusterRouter> {
 public:
  using MakeNode = std::function<std::shared_ptr<Node>(const Endpoint&)>;

  /// `on_changed` is called, with no lock held, when slots may be at another node than before.
  ClusterRouter(std::vector<Endpoint> seeds, MakeNode make_node,
                std::shared_ptr<const Runtime> runtime, std::function<void()> on_changed);

  std::shared_ptr<Node> node_for(std::uint16_t slot) override;
  std::shared_ptr<Node> node_at(const Endpoint& endpoint) override;
  void moved(std::uint16_t slot, const Endpoint& endpoint) override;
  void failed(const Node& node) override;
  void close() override;

 private:
  struct Known {
    std::shared_ptr<Node> node{};
    std::uint64_t used = 0;  // the larger, the more recent
  };

  std::shared_ptr<Node> take_surplus();  // with mutex_ held
  void refresh(const std::optional<Endpoint>& ask_last = {});
  void ask(std::vector<Endpoint> candidates);
  void answered(const Endpoint& asked, std::vector<Endpoint> others, const Replies& replies);
  void learn(ClusterMap map);
  void tell(const Error& error);

  // constant after construction
  const std::vector<Endpoint> seeds_;
  const MakeNode make_node_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::function<void()> on_changed_;

  std::mutex mutex_;
  // guarded by mutex_
  ClusterMap map_;
  std::map<Endpoint, Known> nodes_;
  std::uint64_t uses_ = 0;
  std::size_t seed_ = 0;  // asked about slots that are not known
  bool refreshing_ = false;
  LocalTime refresh_after_ = LocalTime::min();
  Endpoint asked_;  // last asked for the map: the next in order is asked next
  bool closed_ = false;
  std::string told_;  // what was wrong with the map, logged already
};

}  // namespace simba::redis
