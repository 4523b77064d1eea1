#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "support/location.hpp"
#include "support/proxy/fault_proxy.hpp"

namespace simba::support {

/// A proxy before each server of a location, all with the same faults.
///
/// Threads: as FaultProxy.
class ZooKeeperProxies {
 public:
  explicit ZooKeeperProxies(const Location& location) : location_{location} {
    const bool single = location.ports.empty();
    location_.ports.clear();
    for (const auto port : single ? std::vector{location.port} : location.ports) {
      proxies_.push_back(std::make_unique<FaultProxy>(location.host, port));
      if (!single) {
        location_.ports.push_back(proxies_.back()->port());
      }
    }
    location_.port = proxies_.front()->port();
  }

  /// The servers as they are reached through the proxies.
  const Location& location() const noexcept { return location_; }

  void cut() { each(&FaultProxy::cut); }
  void mend() { each(&FaultProxy::mend); }

 private:
  void each(void (FaultProxy::*fault)()) {
    for (const auto& proxy : proxies_) {
      std::invoke(fault, *proxy);
    }
  }

  Location location_;
  std::vector<std::unique_ptr<FaultProxy>> proxies_;
};

}  // namespace simba::support
