#include "zookeeper/queue/owner_search.hpp"

#include <utility>

#include "zookeeper/errors.hpp"
#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {

using engine::LeaseRecord;

LeaseRecord record_of(std::string owner_id, const NodeStat& stat, const Session& session) {
  LeaseRecord record;
  record.owner_id = std::move(owner_id);
  record.lease = {.acquired_at = stat.created_at,
                  .ttl_at = StoreTime::max(),
                  .transition_at = StoreTime::max()};
  record.ttl_left = session.timeout() * 2 / 3;
  record.transition_left = session.timeout();
  record.fencing_token = static_cast<FencingToken>(stat.created_zxid);
  return record;
}

OwnerSearch::OwnerSearch(std::shared_ptr<Session> session, std::string mutex_path,
                         Watching watching, Found found)
    : session_{std::move(session)},
      mutex_path_{std::move(mutex_path)},
      watching_{watching},
      found_{std::move(found)} {}

// Each round but the first follows a change, so there is an end to them; the limit is for a server
// that contradicts itself.
void OwnerSearch::begin() {
  constexpr int most_rounds = 100;
  if (++rounds_ > most_rounds) {
    failed(Code::refused, "find the owner of", mutex_path_);
    return;
  }
  session_->children(mutex_path_, Watching::no,
                     [self = shared_from_this()](Code code, const std::vector<std::string>& names) {
                       self->listed(code, names, Watching::no);
                     });
}

void OwnerSearch::listed(Code code, const std::vector<std::string>& names, Watching watching) {
  if (code == Code::no_node) {
    wait_for_the_mutex();
    return;
  }
  if (code != Code::ok) {
    failed(code, "list the contenders of", mutex_path_);
    return;
  }
  const auto contenders = contenders_among(names);
  if (!contenders.empty()) {
    look_at(mutex_path_ + "/" + contenders.front());
  } else if (watching == watching_) {
    nobody(mutex_path_);
  } else {
    // Only now, while nobody is there: else each one that joins a queue would wake us.
    session_->children(
        mutex_path_, Watching::yes,
        [self = shared_from_this()](Code again, const std::vector<std::string>& now) {
          self->listed(again, now, Watching::yes);
        });
  }
}

void OwnerSearch::look_at(const std::string& node) {
  session_->get(
      node, watching_,
      [self = shared_from_this(), node](Code code, const std::string& data, const NodeStat& stat) {
        if (code == Code::no_node) {
          self->begin();
        } else if (code != Code::ok) {
          self->failed(code, "read the node", node);
        } else {
          // Of one that gives no id at least its node can be named.
          self->found_(record_of(data.empty() ? node : data, stat, *self->session_), node);
        }
      });
}

void OwnerSearch::wait_for_the_mutex() {
  if (watching_ == Watching::no) {
    nobody({});
    return;
  }
  session_->exists(mutex_path_, Watching::yes,
                   [self = shared_from_this()](Code code, const NodeStat& /*stat*/) {
                     if (code == Code::ok) {
                       self->begin();
                     } else if (code == Code::no_node) {
                       self->nobody(self->mutex_path_);
                     } else {
                       self->failed(code, "look for the node", self->mutex_path_);
                     }
                   });
}

void OwnerSearch::nobody(const std::string& watched) { found_(LeaseRecord{}, watched); }

void OwnerSearch::failed(Code code, const std::string& what, const std::string& path) {
  found_(error_of(code, what, path), {});
}

}  // namespace simba::zookeeper
