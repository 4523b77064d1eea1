#pragma once

#include <chrono>
#include <deque>

#include "simba/core/time.hpp"

namespace simba::zookeeper {

/// From when on the servers surely count our session: a local moment that lies before the last sign
/// of life that the leader of the servers has heard. A value without clock or threads.
///
/// The leader alone ends sessions. A server that is not the leader answers us by itself, and tells
/// the leader only twice a tick whom it has heard. If it is cut off from the leader, or dies, what
/// it has not told is lost. So an answer proves nothing by itself. It counts when a later request,
/// sent `settle` after it came, has gone to the leader and back through the same server: the
/// report was on the way before it. A reconnect counts at once, as the leader itself admits us.
class SessionEvidence {
 public:
  /// A new session, which we began to ask for at this moment.
  void begun(LocalTime asked_at, std::chrono::nanoseconds settle);

  /// A request that went to the leader has been answered. To be told in the order of the requests.
  void answered(LocalTime sent_at, LocalTime now);

  /// Connected again, within the same session.
  void reconnected();

  LocalTime counted_from() const noexcept { return counted_from_; }

 private:
  struct Sign {
    LocalTime sent_at;
    LocalTime answered_at;
  };

  std::chrono::nanoseconds settle_{0};
  LocalTime counted_from_ = LocalTime::min();
  std::deque<Sign> unproven_;
};

}  // namespace simba::zookeeper
