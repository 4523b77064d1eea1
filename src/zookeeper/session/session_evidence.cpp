#include "zookeeper/session/session_evidence.hpp"

#include <algorithm>

namespace simba::zookeeper {

void SessionEvidence::begun(LocalTime asked_at, std::chrono::nanoseconds settle) {
  settle_ = settle;
  counted_from_ = asked_at;
  unproven_.clear();
}

void SessionEvidence::answered(LocalTime sent_at, LocalTime now) {
  while (!unproven_.empty() && unproven_.front().answered_at + settle_ <= sent_at) {
    counted_from_ = std::max(counted_from_, unproven_.front().sent_at);
    unproven_.pop_front();
  }
  unproven_.push_back({.sent_at = sent_at, .answered_at = now});
}

// What was answered last came before the connection broke, and that before the leader admitted us.
void SessionEvidence::reconnected() {
  if (unproven_.empty()) return;
  counted_from_ = std::max(counted_from_, unproven_.back().sent_at);
  unproven_.clear();
}

}  // namespace simba::zookeeper
