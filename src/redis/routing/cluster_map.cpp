#include "redis/routing/cluster_map.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "redis/protocol/server_error.hpp"
#include "redis/settings.hpp"

namespace simba::redis {
namespace {

/// More are not in a cluster, by far; a server that says so is not to cost us much.
constexpr std::size_t most_masters = 1'024;

/// What makes a reply useless.
Error flaw(const std::string& text) { return Error{ErrorKind::internal, text}; }

std::int64_t integer_of(const Reply& reply, std::string_view what) {
  if (!reply.is(Reply::Type::integer)) throw flaw(fmt::format("{} is not a number", what));
  return reply.integer;
}

std::uint16_t slot_in(const Reply& reply) {
  const std::int64_t slot = integer_of(reply, "a slot");
  if (slot < 0 || slot >= slot_count) throw flaw(fmt::format("slot {} does not exist", slot));
  return static_cast<std::uint16_t>(slot);
}

/// Empty: the cluster does not know where it is, or it cannot be reached our way.
std::optional<Endpoint> node_in(const Reply& reply, const Endpoint& asked) {
  if (!reply.is(Reply::Type::array) || reply.elements.size() < 2) {
    throw flaw("a node lacks a host or a port");
  }
  const Reply& host = reply.elements[0];
  const std::int64_t port = integer_of(reply.elements[1], "a port");
  if (port != 0 && !can_be_port(port))
    throw flaw(fmt::format("port must be between 1 and 65535 (got {})", port));

  if (host.is(Reply::Type::string) && host.text.empty()) return asked;
  if (port == 0) return std::nullopt;
  Endpoint endpoint;
  endpoint.port = static_cast<std::uint16_t>(port);
  if (host.is(Reply::Type::nil)) {
    // Who answers on a Unix socket is on this machine, and so is its other port.
    if (asked.unix_socket.empty()) endpoint.host = asked.host;
    return endpoint;
  }
  if (!host.is(Reply::Type::string)) throw flaw("a host is not a string");
  if (host.text == "?") return std::nullopt;
  if (!can_be_host(host.text)) throw flaw("a host is neither a name nor an address");
  endpoint.host = host.text;
  return endpoint;
}

ClusterMap map_of(const Reply& reply, const Endpoint& asked) {
  if (!reply.is(Reply::Type::array)) throw flaw("it is not an array");
  ClusterMap map;
  std::vector<bool> seen(slot_count);
  std::set<Endpoint> masters;
  for (const Reply& range : reply.elements) {
    if (!range.is(Reply::Type::array) || range.elements.size() < 3) {
      throw flaw("a range lacks its first slot, last slot or nodes");
    }
    const std::uint16_t first = slot_in(range.elements[0]);
    const std::uint16_t last = slot_in(range.elements[1]);
    if (first > last) throw flaw(fmt::format("a range goes from {} to {}", first, last));
    const std::optional<Endpoint> node = node_in(range.elements[2], asked);
    if (node && masters.insert(*node).second && masters.size() > most_masters) {
      throw flaw(fmt::format("it names more than {} masters", most_masters));
    }
    for (std::uint16_t slot = first; slot <= last; ++slot) {
      if (seen[slot]) throw flaw(fmt::format("slot {} is in two ranges", slot));
      seen[slot] = true;
      if (node) map.moved(slot, *node);
    }
  }
  return map;
}

Error refused(const std::string& text, const std::string& where) {
  if (text.find("cluster support disabled") != std::string::npos) {
    return Error{ErrorKind::configuration,
                 fmt::format("{} is not part of a cluster; check topology and endpoints", where)};
  }
  return to_error(parse_server_error(text), where);
}

}  // namespace

ClusterMap::ClusterMap() : owners_(slot_count, nobody) {}

std::optional<Endpoint> ClusterMap::find(std::uint16_t slot) const {
  if (slot >= owners_.size() || owners_[slot] == nobody) return std::nullopt;
  return nodes_[owners_[slot]].endpoint;
}

void ClusterMap::moved(std::uint16_t slot, const Endpoint& endpoint) {
  if (slot >= owners_.size()) return;
  Index& owner = owners_[slot];
  if (owner != nobody) {
    if (nodes_[owner].endpoint == endpoint) return;
    --nodes_[owner].slots;
  }
  owner = index_of(endpoint);
  ++nodes_[owner].slots;
}

ClusterMap::Index ClusterMap::index_of(const Endpoint& endpoint) {
  // From the back: slots come in ranges, so it is mostly the one that came last.
  const auto known = std::find_if(nodes_.rbegin(), nodes_.rend(), [&](const Node& node) {
    return node.slots > 0 && node.endpoint == endpoint;
  });
  if (known != nodes_.rend()) return static_cast<Index>(nodes_.rend() - known - 1);

  auto place =
      std::find_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.slots == 0; });
  if (place == nodes_.end()) place = nodes_.insert(nodes_.end(), Node{});
  place->endpoint = endpoint;
  return static_cast<Index>(place - nodes_.begin());
}

std::vector<Endpoint> ClusterMap::nodes() const {
  std::vector<Endpoint> endpoints;
  for (const Node& node : nodes_) {
    if (node.slots > 0) endpoints.push_back(node.endpoint);
  }
  std::sort(endpoints.begin(), endpoints.end());
  return endpoints;
}

std::size_t ClusterMap::served() const noexcept {
  std::size_t count = 0;
  for (const Node& node : nodes_) count += node.slots;
  return count;
}

bool operator==(const ClusterMap& left, const ClusterMap& right) {
  if (left.served() != right.served() || left.nodes() != right.nodes()) return false;
  for (std::size_t slot = 0; slot < left.owners_.size(); ++slot) {
    const ClusterMap::Index a = left.owners_[slot];
    const ClusterMap::Index b = right.owners_[slot];
    if ((a == ClusterMap::nobody) != (b == ClusterMap::nobody)) return false;
    if (a != ClusterMap::nobody && left.nodes_[a].endpoint != right.nodes_[b].endpoint) {
      return false;
    }
  }
  return true;
}

std::variant<ClusterMap, Error> parse_cluster_slots(const Reply& reply, const Endpoint& asked) {
  const std::string where = "Redis at " + to_string(asked);
  if (reply.is(Reply::Type::error)) return refused(reply.text, where);
  try {
    return map_of(reply, asked);
  } catch (const Error& error) {
    return Error{ErrorKind::internal,
                 fmt::format("{} sent an invalid reply to CLUSTER SLOTS: {}", where, error.what())};
  }
}

}  // namespace simba::redis
