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

NodeWays::NodeWays(std::string folder, std::size_t nodes) : folder_{std::move(folder)} {
  for (std::size_t node = 0; node < nodes; ++node) {
    tables_.push_back(std::make_unique<SharedPage<DetourTable>>(table_file(folder_, node)));
  }
}

void NodeWays::join_by_environment(std::size_t node) {
  ::setenv("SIMBA_DETOURS", table_file(folder_, node).c_str(), 1);
}

void NodeWays::lead(std::size_t to, std::uint16_t port) {
  for (std::size_t from = 0; from < tables_.size(); ++from) {
    if (from == to) {
      continue;
    }
    ways_.push_back({from, to, std::make_unique<support::FaultProxy>("127.0.0.1", port)});
    if (!(*tables_[from])->add(port, ways_.back().proxy->port())) {
      throw std::runtime_error{"too many servers for the table of detours"};
    }
  }
}

std::vector<support::FaultProxy*> NodeWays::between(std::size_t from, std::size_t to) const {
  std::vector<support::FaultProxy*> found;
  for (const auto& way : ways_) {
    if (way.from == from && way.to == to) {
      found.push_back(way.proxy.get());
    }
  }
  return found;
}

std::vector<support::FaultProxy*> NodeWays::of(std::size_t node) const {
  std::vector<support::FaultProxy*> found;
  for (const auto& way : ways_) {
    if (way.from == node || way.to == node) {
      found.push_back(way.proxy.get());
    }
  }
  return found;
}

}  // namespace simba::chaos
