#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chaos/faults/detour_table.hpp"
#include "chaos/shared_page.hpp"
#include "support/proxy/fault_proxy.hpp"

namespace simba::chaos {

/// The links between the nodes of a group: each reaches each other one by proxies of its own.
class NodeLinks {
 public:
  /// `folder` is for files that servers read.
  NodeLinks(std::string folder, std::size_t nodes);

  /// To be called before the node is launched.
  void join_by_environment(std::size_t node);

  /// From now on all others reach the node at this port by proxies. Those that are connected
  /// already stay so.
  void lead(std::size_t to, std::uint16_t port);

  std::vector<support::FaultProxy*> between(std::size_t from, std::size_t to) const;

  /// All of a node, in both directions.
  std::vector<support::FaultProxy*> of(std::size_t node) const;

 private:
  struct Link {
    std::size_t from = 0;
    std::size_t to = 0;
    std::unique_ptr<support::FaultProxy> proxy{};
  };

  const std::string folder_;
  std::vector<std::unique_ptr<SharedPage<DetourTable>>> tables_;  // of each node
  std::vector<Link> links_;
};

}  // namespace simba::chaos
