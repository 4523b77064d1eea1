#pragma once

#include <memory>
#include <string>

#include "simba/core/runtime.hpp"
#include "unit/rules/world.hpp"

namespace simba::rules {

/// A process as the network sees it.
struct Host {
  std::string name{};
  std::shared_ptr<Actor> actor{};
  std::shared_ptr<const Runtime> runtime{};
  bool cut_off = false;  ///< for ever: it has crashed
};

/// What lies between the processes and the servers: the faults that every network has.
class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// One of its connections breaks, in one of the ways in which they do.
  virtual void break_one(const Host& host) = 0;

  /// The process is gone; the servers hear of it at once or never.
  virtual void crash(Host& host, bool server_hears) = 0;

 protected:
  Network() = default;
};

}  // namespace simba::rules
