#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "simba/core/mutex_contend_service.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "unit/rules/network.hpp"

namespace simba::rules {

class LateStore;

/// One process: a few contenders and perhaps an observer, over the store that it is given.
class Process {
 public:
  struct Member {
    std::unique_ptr<testkit::RecordingContender> contender;
    std::unique_ptr<MutexContendService> service;
    bool stays_out = false;           ///< after a loss
    LocalTime running_since = never;  ///< true time
    bool owned = false;               ///< when it was last looked at
    FencingToken token = 0;
  };

  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Host& host() const noexcept { return *host_; }
  Actor& actor() const noexcept { return *host_->actor; }
  std::vector<Member>& members() noexcept { return members_; }
  const MutexRetrievalService* observer() const noexcept { return observer_.get(); }
  bool crashed() const noexcept { return host_->cut_off; }

  void add(const std::string& mutex, const std::string& id, AfterLoss after_loss);
  void observe(const std::string& mutex);
  void start(Member& member);
  void stop(Member& member);

  /// The thread that sends its requests is not scheduled until `send_held_requests`; what others
  /// tell it arrives all the same.
  void hold_requests(const Member& member);
  std::size_t held_requests(const Member& member) const;
  void send_held_requests(const Member& member);

 protected:
  Process(World& world, std::string name, int drift_ppm);

  const std::shared_ptr<Host>& shared_host() const noexcept { return host_; }

  /// To be called once, before the first contender is added.
  void use(std::shared_ptr<engine::LeaseStore> store, const ContentionOptions& options);

 private:
  const std::shared_ptr<Host> host_;
  std::shared_ptr<LateStore> store_;
  std::unique_ptr<engine::LeaseServiceFactory> factory_;
  std::vector<Member> members_;
  std::unique_ptr<testkit::RecordingRetriever> retriever_;
  std::unique_ptr<MutexRetrievalService> observer_;
};

/// Some have no margin: then the allowance for clocks that go wrong must do.
ContentionOptions contention_options(World& world, std::chrono::milliseconds ttl,
                                     std::chrono::milliseconds transition);

}  // namespace simba::rules
