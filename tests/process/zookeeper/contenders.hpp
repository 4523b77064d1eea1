#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/zookeeper/zookeeper_console.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

/// What the tests of the store on real ZooKeeper servers share.
namespace simba::zookeeper::test {

using namespace std::chrono_literals;
using Console = support::ZooKeeperConsole;

/// A session that tests of faults can wait for, with a tick that is not short beside it.
inline const std::chrono::milliseconds short_session = support::scaled_lease(3s);
inline const std::chrono::milliseconds long_tick = support::scaled_lease(500ms);

/// The servers end a session when it is this old at the latest.
inline const std::chrono::milliseconds session_end = short_session + long_tick;

inline std::vector<std::string> with_long_tick() {
  return {fmt::format("tickTime={}", long_tick.count())};
}

/// A text that no other test of this run has.
inline std::string unique(const std::string& prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}-{}-{}", prefix, ::getpid(), ++count);
}

inline std::string node_of(const std::string& mutex) { return "/simba/" + mutex; }

inline ZooKeeperOptions options_of(const std::string& servers) {
  ZooKeeperOptions options;
  options.connect_string = servers;
  options.session_timeout = short_session;
  options.tick_time = long_tick;
  return options;
}

inline ZooKeeperOptions options_of(std::uint16_t port) {
  return options_of(fmt::format("127.0.0.1:{}", port));
}

/// A contender and its service.
struct Contending {
  Contending(MutexServiceFactory& factory, const std::string& mutex)
      : contender{mutex}, service{factory.create_mutex_contend_service(contender)} {
    service->start();
  }
  Contending(MutexServiceFactory& factory, const std::string& mutex, const std::string& id)
      : contender{mutex, id}, service{factory.create_mutex_contend_service(contender)} {
    service->start();
  }

  bool owns(std::size_t acquisitions = 1) const {
    return contender.wait_for_acquisitions(acquisitions, support::scaled(20s));
  }

  template <class Event>
  std::size_t count() const {
    std::size_t found = 0;
    for (const auto& event : contender.events()) {
      if (std::holds_alternative<Event>(event)) ++found;
    }
    return found;
  }

  std::size_t losses(LossReason reason) const {
    std::size_t found = 0;
    for (const auto& event : contender.events()) {
      const auto* lost = std::get_if<OwnershipLost>(&event);
      if (lost != nullptr && lost->reason == reason) ++found;
    }
    return found;
  }

  testkit::RecordingContender contender;
  std::unique_ptr<MutexContendService> service;
};

/// A factory with a proxy of its own before a server.
struct Proxied {
  explicit Proxied(std::uint16_t port, ZooKeeperOptions options = options_of(1))
      : proxy{"127.0.0.1", port} {
    options.connect_string = fmt::format("127.0.0.1:{}", proxy.port());
    options.runtime = make_runtime({.log = log});
    factory = make_zookeeper_factory(options);
  }

  const std::shared_ptr<testkit::CapturingLogger> log =
      std::make_shared<testkit::CapturingLogger>();
  support::FaultProxy proxy;
  std::unique_ptr<MutexServiceFactory> factory;
};

/// Returns when this much time has passed since `begin`.
inline void wait_until_after(LocalTime begin, std::chrono::nanoseconds span) {
  support::eventually([&] { return support::now() >= begin + span; });
}

}  // namespace simba::zookeeper::test
