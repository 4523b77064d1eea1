#pragma once

#include <atomic>
#include <string>

#include "simba/engine/lease_store.hpp"
#include "zookeeper/contest.hpp"

namespace simba::zookeeper {

/// Someone who is told of changes: a contender, or, without an id, an observer.
struct Contest::Watcher {
  std::string path;
  std::string contender_id;
  engine::NoticeHandler handler;
  std::atomic<bool> ended{false};

  // of an observer
  std::string watched{};        // the path whose next change we will hear of
  bool searching = false;       // for the owner
  bool again = false;           // something changed meanwhile
  engine::LeaseRecord owner{};  // as it was told

  bool observes() const noexcept { return contender_id.empty(); }
  void tell(const engine::Notice& notice) const {
    if (!ended) handler(notice);
  }
};

}  // namespace simba::zookeeper
