#include "zookeeper/queue/record_request.hpp"

#include <utility>

#include "zookeeper/errors.hpp"
#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {

using Outcome = RecordAnswer::Outcome;

RecordRequest::RecordRequest(std::shared_ptr<Session> session, std::shared_ptr<const Clock> clock,
                             Paths paths, std::optional<RecordWrite> write, RecordHandler answered)
    : session_{std::move(session)},
      clock_{std::move(clock)},
      paths_{std::move(paths)},
      write_{std::move(write)},
      answered_{std::move(answered)} {}

// ---- looking ------------------------------------------------------------------------------------

// Each round but the first follows a change, so there is an end to them; the limit is for a server
// that contradicts itself. All is sent at once: a server answers in order.
void RecordRequest::begin() {
  constexpr int most_rounds = 20;
  if (++rounds_ > most_rounds) {
    fail(Code::refused, "read the record", paths_.record);
    return;
  }
  record_ = {};
  owner_node_.clear();
  const bool asks_for_owner = write_ && write_->owner;
  unseen_ = asks_for_owner ? 2 : 1;
  const auto self = shared_from_this();
  session_->sync([self](Code code) {
    if (code != Code::ok) self->fail(code, "catch up with", self->paths_.record);
  });
  session_->get(paths_.record, Watching::no,
                [self](Code code, const std::string& data, const NodeStat& stat) {
                  self->record_read(code, data, stat);
                });
  if (!asks_for_owner) return;
  session_->children(paths_.mutex, Watching::no,
                     [self](Code code, const std::vector<std::string>& names) {
                       self->owner_listed(code, names);
                     });
}

void RecordRequest::record_read(Code code, const std::string& data, const NodeStat& stat) {
  if (code == Code::ok) {
    record_.text = data;
    record_.version = static_cast<std::uint64_t>(stat.version) + 1;
  } else if (code != Code::no_node) {
    fail(code, "read the record", paths_.record);
  }
  seen();
}

void RecordRequest::owner_listed(Code code, const std::vector<std::string>& names) {
  if (code != Code::ok && code != Code::no_node) {
    fail(code, "list the contenders of", paths_.mutex);
    return;
  }
  const auto contenders = contenders_among(names);
  if (contenders.empty()) {
    seen();
    return;
  }
  const std::string node = paths_.mutex + "/" + contenders.front();
  session_->get(
      node, Watching::no,
      [self = shared_from_this(), node](Code got, const std::string& data, const NodeStat& stat) {
        self->owner_read(got, node, data, stat);
      });
}

void RecordRequest::owner_read(Code code, const std::string& node, const std::string& data,
                               const NodeStat& stat) {
  if (over_ || !write_ || !write_->owner) return;
  if (code == Code::no_node) {
    begin();
    return;
  }
  if (code != Code::ok) {
    fail(code, "read the node", node);
    return;
  }
  const bool owns = data == write_->owner->contender_id &&
                    static_cast<FencingToken>(stat.created_zxid) == write_->owner->fencing_token;
  if (owns) owner_node_ = node;
  seen();
}

void RecordRequest::seen() {
  if (--unseen_ == 0 && !over_) decide();
}

// ---- writing ------------------------------------------------------------------------------------

// ZooKeeper has no clock that a client could ask.
void RecordRequest::decide() {
  record_.now = std::chrono::floor<std::chrono::milliseconds>(clock_->wall_now());
  if (!write_) {
    answer(Outcome::found);
  } else if (write_->owner && owner_node_.empty()) {
    answer(Outcome::not_owned);
  } else if (record_.version != write_->replaces) {
    answer(Outcome::changed);
  } else if (write_->not_before && record_.now < *write_->not_before) {
    answer(Outcome::too_early);
  } else {
    send(write_->text);
  }
}

void RecordRequest::send(const std::string& text) {
  NodeWrite write{.path = paths_.record, .data = text, .provided = owner_node_};
  if (record_.version > 0) write.replaces = static_cast<std::int32_t>(record_.version - 1);
  sent_ = true;
  session_->write(write,
                  [self = shared_from_this(), text](Code code) { self->written(code, text); });
}

void RecordRequest::written(Code code, const std::string& text) {
  if (over_) return;
  switch (code) {
    case Code::ok:
      record_.text = text;
      ++record_.version;
      answer(Outcome::written);
      return;
    case Code::no_node:
      sent_ = false;
      if (record_.version > 0) break;
      create_parent();
      return;
    case Code::node_exists:
    case Code::bad_version:
      sent_ = false;
      break;
    default:
      fail(code, "write the record", paths_.record);
      return;
  }
  begin();
}

// It is missing the first time, unless it is the owner's node that is.
void RecordRequest::create_parent() {
  const std::string parent = paths_.record.substr(0, paths_.record.rfind('/'));
  const auto made = [self = shared_from_this(), parent](Code code) {
    if (code == Code::ok || code == Code::node_exists || code == Code::no_node) {
      self->begin();
    } else {
      self->fail(code, "create the node", parent);
    }
  };
  if (!std::exchange(parent_made_, true)) {
    session_->create_path(parent, made);
    return;
  }
  session_->create(
      parent, {}, NodeKind::persistent,
      [made](Code code, const std::string& /*path*/, const NodeStat& /*stat*/) { made(code); });
}

// ---- the end ------------------------------------------------------------------------------------

void RecordRequest::session_over(const Error& error) {
  finish(sent_ ? Error{ErrorKind::in_doubt, error.what()} : error);
}

void RecordRequest::answer(Outcome outcome) {
  finish(RecordAnswer{.outcome = outcome, .record = record_});
}

// Whatever has become of a write that was not refused: nobody knows. Before that nothing is in
// doubt.
void RecordRequest::fail(Code code, const std::string& what, const std::string& path) {
  const bool unknown =
      code == Code::connection_loss || code == Code::closing || code == Code::session_expired;
  const Error error = error_of(code, what, path);
  finish(unknown ? Error{sent_ ? ErrorKind::in_doubt : ErrorKind::unavailable, error.what()}
                 : error);
}

void RecordRequest::finish(const RecordResult& result) {
  if (!std::exchange(over_, true)) answered_(result);
}

}  // namespace simba::zookeeper
