#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "redis/protocol/keys.hpp"
#include "redis/protocol/reply.hpp"
#include "simba/core/error.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Which master serves each slot of a cluster. A value without I/O.
///
/// Threads: used by one thread at a time.
class ClusterMap {
 public:
  /// Serves no slot.
  ClusterMap();

  /// Empty: nobody serves the slot, or it is not known who does.
  std::optional<Endpoint> find(std::uint16_t slot) const;

  /// Takes note that `endpoint` serves the slot now. A slot that does not exist is ignored.
  void moved(std::uint16_t slot, const Endpoint& endpoint);

  /// Those that serve a slot, each once, sorted.
  std::vector<Endpoint> nodes() const;

  /// The number of slots that are served.
  std::size_t served() const noexcept;

  /// Whether the same endpoints serve the same slots.
  friend bool operator==(const ClusterMap& left, const ClusterMap& right);

 private:
  using Index = std::uint16_t;
  static constexpr Index nobody = 0xFFFF;

  struct Node {
    Endpoint endpoint{};
    std::size_t slots = 0;  // without any its place is free
  };

  Index index_of(const Endpoint& endpoint);

  std::vector<Index> owners_;  // of each slot, into nodes_
  std::vector<Node> nodes_;
};

/// Reads the reply to CLUSTER SLOTS. `asked` is the server that gave it.
///
/// Only masters count. A master without a host is `asked` itself (empty host), or another port of
/// its host (nil, as with `cluster-preferred-endpoint-type unknown-endpoint`). The slots of a
/// master whose host the cluster does not know ("?") or that has no port of our kind (0) are left
/// out, and so the map of a cluster that is not set up yet is empty.
///
/// An Error says `configuration` where the server is not part of a cluster, `internal` where the
/// reply makes no sense, else what the server refused.
std::variant<ClusterMap, Error> parse_cluster_slots(const Reply& reply, const Endpoint& asked);

}  // namespace simba::redis
