#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "simba/core/mutex_service_factory.hpp"

namespace simba::cli {

/// Hears what the contenders of its services are told, before they are. Both functions come on the
/// threads of the services and must be short.
struct Listener {
  std::function<void(MutexContendService&, const MutexState&)> on_change{};
  std::function<void(MutexContendService&, const ContentionEvent&)> on_event{};
};

/// Another factory's services with a listener, for those who are not the contender themselves, as
/// with a `Scheduler`. Must outlive its services.
class ListeningFactory final : public MutexContendServiceFactory {
 public:
  ListeningFactory(MutexContendServiceFactory& factory, Listener listener);
  ~ListeningFactory() override;

  using MutexContendServiceFactory::create_mutex_contend_service;
  std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options) override;
  std::shared_ptr<const Runtime> runtime() const noexcept override { return factory_.runtime(); }

 private:
  class Relay;

  MutexContendServiceFactory& factory_;
  const Listener listener_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Relay>> relays_;  // guarded by mutex_
};

}  // namespace simba::cli
