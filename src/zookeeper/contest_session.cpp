// What a contest makes of the ups and downs of its session.

#include <utility>

#include "zookeeper/contest.hpp"
#include "zookeeper/watcher.hpp"

namespace simba::zookeeper {

using engine::LeaseAnswer;
using engine::Notice;

void Contest::session_begun() {
  serve_waiting();
  for (const auto& watcher : all_watchers()) {
    if (watcher->observes()) observe(watcher);
  }
}

void Contest::session_suspended() {
  for (const auto& latch : all_latches()) latch->session_suspended();
  for (const auto& watcher : all_watchers()) watcher->searching = false;
  fail_looks();
  if (settings_->on_disconnect == OnDisconnect::step_down) {
    step_down();
  } else {
    for (const auto& latch : all_latches()) {
      if (latch->granted()) tell(latch->mutex_path(), latch->contender_id(), suspension_of(*latch));
    }
  }
}

// The last that an owner hears of how far its session is proven.
Notice Contest::suspension_of(const Latch& latch) {
  return Notice{.kind = Notice::Kind::suspended, .record = latch.own_record()};
}

void Contest::session_resumed() {
  for (const auto& latch : all_latches()) latch->session_resumed();
  for (const auto& watcher : all_watchers()) {
    if (watcher->observes()) {
      observe(watcher);
    } else if (const auto latch = find(watcher->path, watcher->contender_id);
               latch && latch->granted()) {
      watcher->tell(Notice{});  // so that it renews at once
    }
  }
}

void Contest::session_ended() {
  const auto latches = all_latches();
  for (auto& [path, mutex] : mutexes_) {
    mutex.latches.clear();
    mutex.leaving.clear();
  }
  for (const auto& latch : latches) {
    latch->session_ended();
    drop_if_unused(latch->mutex_path());
  }
  for (const auto& watcher : all_watchers()) {
    watcher->searching = false;
    watcher->watched.clear();
  }
  fail_looks();
  tell_contenders(Notice{.kind = Notice::Kind::revoked});
}

void Contest::connecting_takes_long() { serve_waiting(); }

void Contest::session_ticked() {
  for (const auto& latch : all_latches()) latch->mend();
  for (const auto& watcher : all_watchers()) {
    if (!watcher->observes() || watcher->searching) continue;
    if (watcher->watched.empty()) {
      observe(watcher);
    } else if (session_->watches(watcher->watched) && !watcher->owner.owner_id.empty()) {
      // We would have heard of a change: so the owner still is. It has no lease to renew.
      watcher->tell(Notice{.kind = Notice::Kind::changed, .record = watcher->owner});
    }
  }
}

void Contest::fail_looks() {
  const Error error{ErrorKind::unavailable,
                    "ZooKeeper: the connection was lost before the owner was found"};
  for (const auto& [look, handler] : std::exchange(looks_, {})) handler(error);
}

// As Curator does: whoever leads leads no more, and will queue up anew.
void Contest::step_down() {
  for (const auto& latch : all_latches()) {
    if (!latch->granted() || find(latch->mutex_path(), latch->contender_id()) != latch) continue;
    make_leave(latch, [](const LeaseAnswer&) {});
    tell(latch->mutex_path(), latch->contender_id(), Notice{.kind = Notice::Kind::revoked});
  }
}

}  // namespace simba::zookeeper
