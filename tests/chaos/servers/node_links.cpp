#include "chaos/servers/node_links.hpp"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace simba::chaos {

namespace {

std::string table_file(const std::string& folder, std::size_t node) {
  return fmt::format("{}/detours-{}", folder, node);
}

}  // namespace

NodeLinks::NodeLinks(std::string folder, std::size_t nodes) : folder_{std::move(folder)} {
  for (std::size_t node = 0; node < nodes; ++node) {
    tables_.push_back(std::make_unique<SharedPage<DetourTable>>(table_file(folder_, node)));
  }
}

void NodeLinks::join_by_environment(std::size_t node) {
  ::setenv("SIMBA_DETOURS", table_file(folder_, node).c_str(), 1);
}

void NodeLinks::lead(std::size_t to, std::uint16_t port) {
  for (std::size_t from = 0; from < tables_.size(); ++from) {
    if (from == to) {
      continue;
    }
    links_.push_back({from, to, std::make_unique<support::FaultProxy>("127.0.0.1", port)});
    if (!(*tables_[from])->add(port, links_.back().proxy->port())) {
      throw std::runtime_error{"too many servers for the table of detours"};
    }
  }
}

std::vector<support::FaultProxy*> NodeLinks::between(std::size_t from, std::size_t to) const {
  std::vector<support::FaultProxy*> found;
  for (const auto& link : links_) {
    if (link.from == from && link.to == to) {
      found.push_back(link.proxy.get());
    }
  }
  return found;
}

std::vector<support::FaultProxy*> NodeLinks::of(std::size_t node) const {
  std::vector<support::FaultProxy*> found;
  for (const auto& link : links_) {
    if (link.from == node || link.to == node) {
      found.push_back(link.proxy.get());
    }
  }
  return found;
}

}  // namespace simba::chaos
