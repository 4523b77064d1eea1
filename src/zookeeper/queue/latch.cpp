#include "zookeeper/queue/latch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "zookeeper/errors.hpp"
#include "zookeeper/queue/node_names.hpp"
#include "zookeeper/queue/owner_search.hpp"

namespace simba::zookeeper {

using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRecord;

namespace {

/// Sequence numbers that are not of ten digits no longer sort in the order of creation.
bool in_order(std::string_view name) {
  const auto sequence = sequence_of(name);
  return sequence && sequence->size() == 10 &&
         sequence->find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Latch::Latch(std::shared_ptr<Session> session, std::string mutex_path, std::string contender_id,
             std::string prefix, LatchHost& host)
    : session_{std::move(session)},
      mutex_path_{std::move(mutex_path)},
      contender_id_{std::move(contender_id)},
      prefix_{std::move(prefix)},
      host_{host} {}

// ---- what the contender wants -----------------------------------------------------------------

void Latch::ask(AnswerHandler handler) {
  asks_.push_back(std::move(handler));
  if (node_ != Node::there || looking_) return;  // answered when that is done
  if (place_ == Place::leading && !stale_) {
    tell();
  } else {
    look();  // the owner may be another by now
  }
}

void Latch::guard(AnswerHandler handler) {
  if (!granted_ || over_) {
    handler(LeaseRecord{});
  } else if (!session_->connected()) {
    handler(session_->trouble());
  } else if (looking_ || stale_) {
    guards_.push_back(std::move(handler));
  } else {
    handler(own_record());
  }
}

void Latch::leave(AnswerHandler handler) {
  if (over_) {
    handler(LeaseRecord{});
    return;
  }
  leaving_ = true;
  leaves_.push_back(std::move(handler));
  fail(Error{ErrorKind::unavailable, "ZooKeeper: the contender has left the queue"});
  if (!session_->connected()) {
    answer(leaves_, session_->trouble());
  } else if (node_ == Node::there) {
    remove();
  }
}

void Latch::tell() {
  if (node_ != Node::there || place_ != Place::leading || looking_ || stale_ || leaving_) return;
  const LeaseRecord record = own_record();
  if (granted_) {
    answer(asks_, record);  // of a request that has crossed the grant
    return;
  }
  if (!session_->proven()) return;
  granted_at_ = session_->now();
  if (!asks_.empty()) {
    granted_ = true;
    answer(asks_, record);
  } else {
    granted_ = host_.latch_leads(*this, record);
  }
}

// ---- the node -----------------------------------------------------------------------------------

// The look follows the creation on the same connection, so both take one round trip together.
void Latch::begin() {
  node_ = Node::creating;
  session_->create(
      mutex_path_ + "/" + prefix_, contender_id_, NodeKind::ephemeral_sequential,
      [self = shared_from_this()](Code code, const std::string& path, const NodeStat& stat) {
        self->created(code, path, stat);
      });
  look();
}

void Latch::created(Code code, const std::string& path, const NodeStat& stat) {
  switch (code) {
    case Code::ok:
      name_ = path.substr(path.rfind('/') + 1);
      adopted(stat);
      break;
    case Code::no_node:
      node_ = Node::none;
      ++look_;
      looking_ = false;
      create_parents();
      break;
    case Code::connection_loss:
    case Code::closing:
    case Code::session_expired:
      node_ = Node::in_doubt;
      missed(code, "create a node in", mutex_path_);
      break;
    default:
      give_up(error_of(code, "create a node in", mutex_path_));
      break;
  }
}

void Latch::create_parents() {
  constexpr int most_rounds = 5;  // they vanish again only where someone removes them on purpose
  if (leaving_) {
    vanished();
    return;
  }
  if (++parents_made_ > most_rounds) {
    give_up(error_of(Code::no_node, "create a node in", mutex_path_));
    return;
  }
  session_->create_path(mutex_path_, [self = shared_from_this()](Code code) {
    if (code != Code::ok) {
      self->give_up(error_of(code, "create the parents of", self->mutex_path_));
    } else if (self->leaving_) {
      self->vanished();
    } else {
      self->begin();
    }
  });
}

// The server that we are connected to now may not know yet what an earlier one has decided.
void Latch::settle_doubt() {
  if (settling_) return;
  settling_ = true;
  session_->sync([self = shared_from_this()](Code code) {
    if (self->over_) return;
    if (code == Code::ok) {
      self->find_own();
    } else {
      self->still_in_doubt(code, "catch up with", self->mutex_path_);
    }
  });
}

void Latch::still_in_doubt(Code code, const std::string& what, const std::string& path) {
  settling_ = false;
  missed(code, what, path);
}

void Latch::find_own() {
  session_->children(mutex_path_, Watching::no,
                     [self = shared_from_this()](Code code, const std::vector<std::string>& names) {
                       if (self->over_) return;
                       if (code == Code::ok || code == Code::no_node) {
                         self->find_own_among(names);
                       } else {
                         self->still_in_doubt(code, "list the contenders of", self->mutex_path_);
                       }
                     });
}

void Latch::find_own_among(const std::vector<std::string>& names) {
  const auto own = std::find_if(names.begin(), names.end(), [this](const std::string& name) {
    return name.starts_with(prefix_);
  });
  if (own == names.end()) {
    settling_ = false;
    node_ = Node::none;
    if (leaving_) {
      vanished();
    } else {
      begin();
    }
    return;
  }
  name_ = *own;
  session_->get(
      own_path(), Watching::no,
      [self = shared_from_this()](Code code, const std::string& /*data*/, const NodeStat& stat) {
        if (self->over_) return;
        if (code == Code::ok) {
          self->settling_ = false;
          self->adopted(stat);
          if (!self->over_ && self->node_ == Node::there) self->look();
        } else if (code == Code::no_node) {
          self->vanished();
        } else {
          self->still_in_doubt(code, "read the node", self->own_path());
        }
      });
}

void Latch::adopted(const NodeStat& stat) {
  stat_ = stat;
  node_ = Node::there;
  parents_made_ = 0;
  if (stat.session != session_->id()) {
    give_up(Error{ErrorKind::internal,
                  fmt::format("ZooKeeper: the new node [{}] belongs to another session",
                              own_path())});  // with which it will go
  } else if (leaving_) {
    remove();
  } else if (!in_order(name_)) {
    fail(Error{ErrorKind::unavailable,
               fmt::format("ZooKeeper: the sequence numbers of [{}] are exhausted; delete that "
                           "node while nobody contends to start over",
                           mutex_path_)});
    host_.latch_displaced(*this);
  }
}

// ---- the end ------------------------------------------------------------------------------------

void Latch::remove() {
  node_ = Node::removing;
  session_->remove(own_path(), [self = shared_from_this()](Code code) { self->removed(code); });
}

void Latch::removed(Code code) {
  if (over_) return;
  if (code == Code::ok || code == Code::no_node) {
    vanished();
    return;
  }
  node_ = Node::there;
  answer(leaves_, error_of(code, "remove the node", own_path()));
}

// The node is not there any more, or never was.
void Latch::vanished() {
  if (over_) return;
  const auto self = shared_from_this();
  over_ = true;
  ++look_;
  const bool led = granted_;
  answer(guards_, LeaseRecord{});
  answer(leaves_, LeaseRecord{});
  fail(Error{
      ErrorKind::unavailable,
      fmt::format("ZooKeeper: the contender's node [{}] was deleted by someone else", own_path())});
  if (leaving_) {
    host_.latch_left(*self);
  } else {
    host_.latch_lost(*self, led);
  }
}

// It cannot be had now; asking again makes a new one.
void Latch::give_up(const Error& error) {
  if (over_) return;
  const auto self = shared_from_this();
  over_ = true;
  ++look_;
  answer(leaves_, LeaseRecord{});
  fail(error);
  host_.latch_left(*self);
}

// ---- the session --------------------------------------------------------------------------------

void Latch::session_suspended() {
  stale_ = true;
  looking_ = false;
  ++look_;
  fail(session_->trouble());
  answer(leaves_, session_->trouble());
}

void Latch::session_resumed() {
  stale_ = true;
  mend();
}

void Latch::mend() {
  if (over_ || !session_->connected()) return;
  if (node_ == Node::in_doubt) {
    settle_doubt();
  } else if (node_ == Node::there && leaving_) {
    remove();
  } else if (node_ == Node::there && (stale_ || long_unwatched()) && !looking_) {
    look();
  } else {
    tell();
  }
}

void Latch::session_ended() {
  const auto self = shared_from_this();
  over_ = true;
  ++look_;
  answer(leaves_, LeaseRecord{});
  answer(guards_, LeaseRecord{});
  fail(Error{ErrorKind::unavailable, "ZooKeeper: the session ended; starting a new one"});
}

void Latch::close(const Error& error) {
  const auto self = shared_from_this();
  over_ = true;
  ++look_;
  answer(leaves_, error);
  fail(error);
}

// ---- small parts --------------------------------------------------------------------------------

void Latch::missed(Code code, const std::string& what, const std::string& path) {
  stale_ = true;
  looking_ = false;
  rounds_ = 0;
  ++look_;
  fail(error_of(code, what, path));
}

LeaseRecord Latch::own_record() const {
  LeaseRecord record = record_of(contender_id_, stat_, *session_);
  record.counted_from = session_->counted_from();
  return record;
}

// What is told may make the contender ask for more, which is for later.
void Latch::answer(Handlers& handlers, const LeaseAnswer& answer) {
  for (const AnswerHandler& handler : std::exchange(handlers, {})) handler(answer);
}

void Latch::fail(const Error& error) {
  answer(asks_, error);
  answer(guards_, error);
}

}  // namespace simba::zookeeper

// A latch's place in the queue. Its node, its life and its end are in latch.cpp.

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
  answer(guards_, own_record());
  tell();
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

// Where there are too many watches an owner looks after its node once in a session timeout.
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
