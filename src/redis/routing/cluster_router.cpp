#include "redis/routing/cluster_router.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "redis/protocol/command.hpp"

namespace simba::redis {
namespace {

/// A slot that is being moved leads to a node that may not serve any slot yet, and the seeds need
/// not be masters. A server that names more than this is making them up.
constexpr std::size_t most_strangers = 16;

/// A cluster that changes redirects often; its map is not requested more often than this.
constexpr std::chrono::milliseconds refresh_pause{100};

}  // namespace

ClusterRouter::ClusterRouter(std::vector<Endpoint> seeds, MakeNode make_node,
                             std::shared_ptr<const Runtime> runtime,
                             std::function<void()> on_changed)
    : seeds_{std::move(seeds)},
      make_node_{std::move(make_node)},
      runtime_{std::move(runtime)},
      on_changed_{std::move(on_changed)} {}

std::shared_ptr<Node> ClusterRouter::node_for(std::uint16_t slot) {
  Endpoint endpoint;
  {
    const std::lock_guard lock{mutex_};
    endpoint = map_.find(slot).value_or(seeds_[seed_]);
  }
  return node_at(endpoint);
}

std::shared_ptr<Node> ClusterRouter::node_at(const Endpoint& endpoint) {
  std::unique_lock lock{mutex_};
  Known& known = nodes_[endpoint];
  known.used = ++uses_;
  if (known.node) return known.node;
  std::shared_ptr<Node> made;
  try {
    made = known.node = make_node_(endpoint);
  } catch (...) {
    nodes_.erase(endpoint);
    throw;
  }
  if (closed_) made->close();
  const auto surplus = take_surplus();
  lock.unlock();
  if (surplus) surplus->close();
  return made;
}

/// If there are too many nodes that are not in the map, the least recently used of those that
/// neither a request nor a watch holds.
std::shared_ptr<Node> ClusterRouter::take_surplus() {
  const auto serving = map_.nodes();
  std::size_t strangers = 0;
  auto oldest = nodes_.end();
  for (auto at = nodes_.begin(); at != nodes_.end(); ++at) {
    if (std::binary_search(serving.begin(), serving.end(), at->first)) continue;
    ++strangers;
    if (at->second.node.use_count() > 1) continue;
    if (oldest == nodes_.end() || at->second.used < oldest->second.used) oldest = at;
  }
  if (strangers <= most_strangers || oldest == nodes_.end()) return nullptr;
  auto node = std::move(oldest->second.node);
  nodes_.erase(oldest);
  return node;
}

void ClusterRouter::moved(std::uint16_t slot, const Endpoint& endpoint) {
  {
    const std::lock_guard lock{mutex_};
    if (map_.find(slot) == endpoint) return;  // another request was told so before
    map_.moved(slot, endpoint);
  }
  on_changed_();
  refresh();
}

void ClusterRouter::failed(const Node& node) {
  const Endpoint endpoint = node.endpoint();
  {
    const std::lock_guard lock{mutex_};
    if (endpoint == seeds_[seed_]) seed_ = (seed_ + 1) % seeds_.size();
  }
  refresh(endpoint);
}

void ClusterRouter::close() {
  std::map<Endpoint, Known> nodes;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    nodes = nodes_;
  }
  for (const auto& [endpoint, known] : nodes) known.node->close();
}

// ---- the map ------------------------------------------------------------------------------------

void ClusterRouter::refresh(const std::optional<Endpoint>& ask_last) {
  std::vector<Endpoint> candidates;
  {
    const std::lock_guard lock{mutex_};
    const LocalTime now = runtime_->clock->now();
    if (closed_ || refreshing_ || now < refresh_after_) return;
    refreshing_ = true;
    refresh_after_ = now + refresh_pause;
    candidates = map_.nodes();
    for (const Endpoint& seed : seeds_) {
      if (std::find(candidates.begin(), candidates.end(), seed) == candidates.end()) {
        candidates.push_back(seed);
      }
    }
    // A node that is wrong about the cluster must not always come first.
    std::sort(candidates.begin(), candidates.end());
    std::rotate(candidates.begin(), std::upper_bound(candidates.begin(), candidates.end(), asked_),
                candidates.end());
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](const Endpoint& candidate) { return candidate != ask_last; });
    std::reverse(candidates.begin(), candidates.end());  // asked from the back
  }
  ask(std::move(candidates));
}

void ClusterRouter::ask(std::vector<Endpoint> candidates) {
  if (candidates.empty()) {
    const std::lock_guard lock{mutex_};
    refreshing_ = false;
    return;
  }
  const Endpoint next = std::move(candidates.back());
  candidates.pop_back();
  {
    const std::lock_guard lock{mutex_};
    asked_ = next;
  }
  node_at(next)->commands().send(
      command({"CLUSTER", "SLOTS"}), 1,
      [weak = weak_from_this(), next, others = std::move(candidates)](const Replies& replies) {
        if (const auto self = weak.lock()) self->answered(next, others, replies);
      });
}

void ClusterRouter::answered(const Endpoint& asked, std::vector<Endpoint> others,
                             const Replies& replies) {
  if (const auto* list = std::get_if<std::vector<Reply>>(&replies)) {
    auto map = parse_cluster_slots(list->front(), asked);
    if (auto* known = std::get_if<ClusterMap>(&map); known != nullptr && known->served() > 0) {
      learn(std::move(*known));
      return;
    }
    if (const auto* error = std::get_if<Error>(&map)) tell(*error);
  }
  ask(std::move(others));
}

void ClusterRouter::tell(const Error& error) {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(told_, error.what()) == error.what()) return;
  }
  runtime_->log->log(LogLevel::warn, std::string{"cannot load the cluster map: "} + error.what());
}

void ClusterRouter::learn(ClusterMap map) {
  std::vector<std::shared_ptr<Node>> gone;
  bool changed = false;
  {
    const std::lock_guard lock{mutex_};
    refreshing_ = false;
    told_.clear();
    changed = !(map == map_);
    map_ = std::move(map);
    const auto serving = map_.nodes();
    for (auto node = nodes_.begin(); node != nodes_.end();) {
      if (std::binary_search(serving.begin(), serving.end(), node->first)) {
        ++node;
      } else {
        gone.push_back(std::move(node->second.node));
        node = nodes_.erase(node);
      }
    }
  }
  if (changed) on_changed_();  // first: those who listen at a node that is gone move on
  for (const auto& node : gone) node->close();
}

}  // namespace simba::redis
