#include "unit/zookeeper/rules/ensemble.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Lane = Actor::Lane;
using Kind = Ask::Kind;

Ensemble::Ensemble(World& world, const EnsembleConfig& config, Mutation mutation)
    : world_{world}, config_{config}, mutation_{mutation} {
  for (std::size_t i = 0; i < size; ++i) {
    members_[i].server = std::make_unique<Server>(world, i, *this, mutation);
  }
  elect();
  look_after();
}

// ---- between the servers ------------------------------------------------------------------------

// Each stream keeps its order. What is under way when a server or the leader changes is lost.
void Ensemble::send(std::size_t number, Stream stream, std::function<void()> task) {
  if (!leader_) return;
  if (number == *leader_) {
    task();
    return;
  }
  Member& member = members_[number];
  if (!member.joined) return;
  nanoseconds delay = world_.between(50us, 1ms);
  if (world_.rough && world_.chance(30)) delay = world_.between(2ms, 50ms);
  if (world_.rough && stream == commits) delay += world_.between(0ns, config_.followers_lag);
  LocalTime& last = member.last.at(stream);
  last = std::max({last, world_.now() + delay, member.held_until});
  Actor& receiver = stream == to_leader ? server(*leader_).actor() : member.server->actor();
  receiver.at(
      Lane::loop, last,
      [this, &member, epoch = epoch_, membership = member.membership, task = std::move(task)] {
        if (epoch_ == epoch && member.membership == membership) task();
      });
}

void Ensemble::ask_leader(std::size_t number, const VisitorPtr& visitor, const Ask& ask,
                          Handler handler) {
  // A session that is known already is looked up beside the stream of changes.
  const bool known = ask.kind == Kind::connect && ask.session != 0;
  const Handler reply = [this, number, known, handler = std::move(handler)](Say answer) {
    send(number, known ? direct : commits,
         [handler, answer = std::move(answer)] { handler(answer); });
  };
  send(number, to_leader,
       [this, number, visitor, ask, reply] { decide(visitor, ask, number, reply); });
}

// ---- the leader: changes ------------------------------------------------------------------------

void Ensemble::decide(const VisitorPtr& visitor, const Ask& ask, std::size_t number,
                      const Handler& reply) {
  Say answer{.kind = Say::Kind::answer};
  if (ask.kind == Kind::connect) {
    std::int64_t session = ask.session;
    if (session == 0) {
      session = ++sessions_made_;
      commit({.kind = Txn::Kind::begin_session, .session = session});
      sessions_[session];
    }
    const bool there = sessions_.contains(session);
    answer.kind = there ? Say::Kind::welcome : Say::Kind::expired;
    answer.session = session;
    answer.timeout = config_.timeout;
    if (there) {
      refresh(session);
      sessions_[session].owner = visitor.get();
    }
    reply(std::move(answer));
    return;
  }
  const auto session = sessions_.find(visitor->session);
  if (session == sessions_.end()) {
    answer.code = Code::session_expired;
    reply(std::move(answer));
    return;
  }
  if (session->second.owner != visitor.get() && mutation_ != Mutation::late_writes_count) {
    send(number, direct, [this, number, visitor] { server(number).drop(visitor); });
    return;
  }
  if (ask.kind == Kind::create) answer = create(ask, visitor->session);
  if (ask.kind == Kind::remove) answer = remove(ask);
  if (ask.kind == Kind::write) answer = write(ask, visitor->session);
  if (ask.kind == Kind::close_session) {
    sessions_.erase(session);
    commit({.kind = Txn::Kind::end_session, .session = visitor->session});
  }
  reply(std::move(answer));
}

Say Ensemble::create(const Ask& ask, std::int64_t session) {
  Say answer{.kind = Say::Kind::answer};
  const bool sequential = ask.node_kind == NodeKind::ephemeral_sequential;
  const Tree::Node* parent = truth_.find(Tree::parent_of(ask.path));
  if (ask.node_kind == NodeKind::container && !config_.knows_containers) {
    answer.code = Code::unimplemented;
  } else if (parent == nullptr) {
    answer.code = Code::no_node;
  } else {
    answer.path = ask.path;
    if (sequential) {
      const bool broken = mutation_ == Mutation::sequence_starts_again;
      answer.path = Tree::numbered(ask.path, broken ? parent->creates % 3 : parent->creates);
    }
    if (truth_.find(answer.path) != nullptr) answer.code = Code::node_exists;
  }
  if (answer.code != Code::ok) return answer;
  commit({.kind = Txn::Kind::create,
          .session = session,
          .path = answer.path,
          .data = ask.data,
          .node_kind = ask.node_kind});
  answer.stat = truth_.find(answer.path)->stat;
  world_.note(fmt::format("{:x} creates {} [{}]", session, answer.path, ask.data));
  return answer;
}

Say Ensemble::remove(const Ask& ask) {
  Say answer{.kind = Say::Kind::answer};
  if (truth_.find(ask.path) == nullptr) {
    answer.code = Code::no_node;
  } else if (truth_.has_children(ask.path)) {
    answer.code = Code::refused;
  } else {
    world_.note(ask.path + " is removed");
    commit({.kind = Txn::Kind::remove, .path = ask.path});
  }
  return answer;
}

Say Ensemble::write(const Ask& ask, std::int64_t session) {
  if (!ask.provided.empty() && truth_.find(ask.provided) == nullptr) {
    return {.kind = Say::Kind::answer, .code = Code::no_node};
  }
  if (!ask.replaces) return create(ask, session);
  Say answer{.kind = Say::Kind::answer};
  const Tree::Node* node = truth_.find(ask.path);
  if (node == nullptr) {
    answer.code = Code::no_node;
  } else if (node->stat.version != *ask.replaces) {
    answer.code = Code::bad_version;
  } else {
    world_.note(fmt::format("{:x} writes {} [{}]", session, ask.path, ask.data));
    commit({.kind = Txn::Kind::write, .path = ask.path, .data = ask.data});
  }
  return answer;
}

void Ensemble::commit(Txn txn) {
  txn.zxid = truth_.zxid() + 1;
  txn.at =
      StoreTime{std::chrono::floor<std::chrono::milliseconds>(world_.now().time_since_epoch())};
  log_.push_back(txn);
  truth_.apply(txn, [](const NodeEvent&) {});
  const std::size_t end = log_.size();
  for (std::size_t i = 0; i < size; ++i) {
    send(i, commits, [this, i, end] { catch_up(members_[i], end); });
  }
}

void Ensemble::catch_up(Member& member, std::size_t end) {
  while (member.applied < end) member.server->apply(log_[member.applied++]);
}

void Ensemble::remove_by_hand(const std::string& path) {
  if (!leader_ || server(*leader_).actor().paused()) return;
  if (truth_.find(path) != nullptr) commit({.kind = Txn::Kind::remove, .path = path});
}

void Ensemble::end_session_by_hand(std::int64_t session) {
  if (!leader_ || server(*leader_).actor().paused() || sessions_.erase(session) == 0) return;
  commit({.kind = Txn::Kind::end_session, .session = session});
}

void Ensemble::remove_empty_containers() {
  for (const std::string& path : truth_.empty_containers()) remove_by_hand(path);
}

// ---- the leader: sessions -----------------------------------------------------------------------

// Rounded up to the next tick, as all sessions of one tick end together.
LocalTime Ensemble::end_of_session() const {
  const nanoseconds tick = config_.tick;
  return LocalTime{((world_.now() + config_.timeout).time_since_epoch() / tick + 1) * tick};
}

void Ensemble::refresh(std::int64_t session) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) found->second.ends_at = end_of_session();
}

void Ensemble::touch(std::size_t number, std::int64_t session) {
  if (leader_ == number) {
    refresh(session);
  } else {
    members_[number].server->note_touch(session);
  }
}

void Ensemble::ask_who_is_alive() {
  server(*leader_).actor().at(Lane::timers, world_.now() + config_.tick / 2, [this, at = epoch_] {
    if (epoch_ != at) return;
    for (std::size_t i = 0; i < size; ++i) {
      if (i == *leader_ || mutation_ == Mutation::touches_stay_at_follower) continue;
      send(i, direct, [this, i] {
        send(i, to_leader, [this, touched = server(i).take_touched()] {
          for (const std::int64_t session : touched) refresh(session);
        });
      });
    }
    ask_who_is_alive();
  });
}

void Ensemble::end_sessions() {
  const nanoseconds tick = config_.tick;
  const LocalTime next{(world_.now().time_since_epoch() / tick + 1) * tick};
  server(*leader_).actor().at(Lane::callbacks, next, [this, at = epoch_] {
    if (epoch_ != at) return;
    const nanoseconds early =
        mutation_ == Mutation::sessions_end_early ? nanoseconds{config_.tick} : 0ns;
    for (const auto& [id, session] : std::map{sessions_}) {
      if (session.ends_at - early > world_.now()) continue;
      world_.note(fmt::format("session {:x} ends", id));
      sessions_.erase(id);
      if (mutation_ == Mutation::dead_sessions_keep_nodes) continue;
      commit({.kind = Txn::Kind::end_session, .session = id});
    }
    end_sessions();
  });
}

}  // namespace simba::zookeeper::rules
