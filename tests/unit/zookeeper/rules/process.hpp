#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simba/core/mutex_contend_service.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"
#include "unit/zookeeper/rules/network.hpp"

namespace simba::zookeeper::rules {

/// The node of a mutex.
std::string folder_of(const std::string& mutex);

/// One process: the real store above simulated sessions, and a few contenders.
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

  Process(Network& network, std::string name, int drift_ppm, OnDisconnect on_disconnect,
          std::chrono::milliseconds session_timeout);
  ~Process();
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

 private:
  const std::shared_ptr<Host> host_;
  std::unique_ptr<engine::LeaseServiceFactory> factory_;
  std::vector<Member> members_;
  std::unique_ptr<testkit::RecordingRetriever> retriever_;
  std::unique_ptr<MutexRetrievalService> observer_;
};

}  // namespace simba::zookeeper::rules
