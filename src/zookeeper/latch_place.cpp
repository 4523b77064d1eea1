// A latch's place in the queue. Its node, its life and its end are in latch.cpp.

#include <algorithm>
#include <utility>

#include "zookeeper/latch.hpp"
#include "zookeeper/node_names.hpp"
#include "zookeeper/owner_search.hpp"

namespace simba::zookeeper {

using engine::LeaseAnswer;
using engine::LeaseRecord;

void Latch::look() {
  looking_ = true;
  stale_ = false;
  session_->children(mutex_path_, Watching::no,
                     [self = shared_from_this(), look = ++look_](
                         Code code, const std::vector<std::string>& names) {
                       if (look == self->look_) self->listed(code, names);
                     });
}

void Latch::listed(Code code, const std::vector<std::string>& names) {
  if (node_ != Node::there || leaving_) {
    looking_ = false;
    return;
  }
  if (code != Code::ok && code != Code::no_node) {
    missed(code, "list the contenders of", mutex_path_);
    return;
  }
  const auto contenders = contenders_among(names);
  const auto own = std::find(contenders.begin(), contenders.end(), name_);
  if (own == contenders.end()) {
    vanished();
  } else if (own == contenders.begin()) {
    lead();
  } else if (granted_) {
    answer(guards_, LeaseRecord{});
    host_.latch_displaced(*this);
  } else {
    wait_behind(mutex_path_ + "/" + *std::prev(own), mutex_path_ + "/" + contenders.front());
  }
}

void Latch::lead() {
  looking_ = false;
  place_ = Place::leading;
  predecessor_.clear();
  watch_own();
  if (granted_) {
    answer(guards_, own_record());
  } else {
    tell();
  }
}

// An owner's node may be removed by hand, to free the mutex.
void Latch::watch_own() {
  session_->get(own_path(), Watching::yes,
                [self = shared_from_this()](Code code, const std::string& /*data*/,
                                            const NodeStat& /*stat*/) {
                  if (self->over_ || self->leaving_) return;
                  if (code == Code::no_node) {
                    self->vanished();
                  } else if (code != Code::ok) {
                    self->stale_ = true;
                  }
                });
}

void Latch::wait_behind(const std::string& predecessor, const std::string& owner) {
  place_ = Place::unknown;
  predecessor_ = predecessor;
  unseen_ = 1;
  const auto handler = [this](const std::string& node) {
    return [self = shared_from_this(), look = look_, node](Code code, const std::string& data,
                                                           const NodeStat& stat) {
      if (look == self->look_) self->seen(code, node, data, stat);
    };
  };
  first_ = owner;
  if (owner != predecessor && owner != owner_node_) {
    ++unseen_;
    session_->get(owner, Watching::no, handler(owner));
  }
  session_->get(predecessor, Watching::yes, handler(predecessor));
}

void Latch::seen(Code code, const std::string& node, const std::string& data,
                 const NodeStat& stat) {
  if (node_ != Node::there || leaving_) {
    looking_ = false;
    return;
  }
  constexpr int most_rounds = 100;  // each follows a change, unless the server contradicts itself
  if (code == Code::no_node && ++rounds_ < most_rounds) {
    look();
    return;
  }
  if (code != Code::ok) {
    missed(code, "read the node", node);
    return;
  }
  if (node == first_) {
    owner_node_ = node;
    owner_ = record_of(data.empty() ? node : data, stat, *session_);
  }
  if (--unseen_ > 0) return;
  looking_ = false;
  rounds_ = 0;
  place_ = Place::waiting;
  answer(asks_, held_by_other());
}

void Latch::node_changed(const NodeEvent& event) {
  if (over_ || leaving_ || node_ != Node::there || stale_) return;
  if (event.path == own_path()) {
    if (event.kind == NodeEvent::Kind::removed) {
      vanished();
    } else if (place_ == Place::leading) {
      watch_own();
    }
  } else if (event.path == predecessor_ && session_->connected()) {
    look();
  }
}

// Where there are too many watches an owner looks after its node once in a session time-out.
bool Latch::long_unwatched() {
  if (place_ != Place::leading || session_->watches(own_path())) {
    unwatched_ = 0;
    return false;
  }
  constexpr int ticks_of_a_session = 10;
  if (++unwatched_ < ticks_of_a_session) return false;
  unwatched_ = 0;
  return true;
}

// A node with our id that is not ours is one of another session: of a former life of this
// contender, which ends with that session, or of another process. It is never taken for ours.
LeaseAnswer Latch::held_by_other() const {
  LeaseRecord owner = owner_;
  owner.namesake = owner.owner_id == contender_id_;
  return owner;
}

}  // namespace simba::zookeeper
