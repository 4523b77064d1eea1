#pragma once

#include <chrono>
#include <string>

#include "simba/zookeeper/zookeeper_options.hpp"
#include "unit/rules/process.hpp"
#include "unit/zookeeper/rules/network.hpp"

namespace simba::zookeeper::rules {

using simba::rules::Process;

/// The node of a mutex.
std::string folder_of(const std::string& mutex);

/// One process: the real store above simulated sessions, and a few contenders.
class ZooKeeperProcess final : public Process {
 public:
  ZooKeeperProcess(Network& network, std::string name, int drift_ppm, OnDisconnect on_disconnect,
                   std::chrono::milliseconds session_timeout);
};

}  // namespace simba::zookeeper::rules
