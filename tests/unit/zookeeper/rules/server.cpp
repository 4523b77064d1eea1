#include "unit/zookeeper/rules/server.hpp"

#include <algorithm>
#include <utility>

namespace simba::zookeeper::rules {

using Kind = Ask::Kind;
using EventKind = NodeEvent::Kind;

bool Watches::take(const NodeEvent& event) {
  switch (event.kind) {
    case EventKind::created:
    case EventKind::changed:
      return (data.erase(event.path) + absent.erase(event.path)) > 0;
    case EventKind::removed:
      return (data.erase(event.path) + children.erase(event.path)) > 0;
    case EventKind::children:
      break;
  }
  return children.erase(event.path) > 0;
}

Server::Server(World& world, std::size_t number, LeaderLine& line, Mutation mutation)
    : number_{number}, line_{line}, mutation_{mutation}, actor_{world} {}

void Server::say(Visitor& visitor, Say what) {
  what.zxid = tree_.zxid();
  if (visitor.open) visitor.say(std::move(what));
}

void Server::forget(const VisitorPtr& visitor) {
  visitor->open = false;
  std::erase(visitors_, visitor);
}

void Server::drop(const VisitorPtr& visitor) {
  if (!visitor->open) return;
  forget(visitor);
  visitor->dropped();
}

void Server::end_serving() {
  serving_ = false;
  touched_.clear();
  for (const auto& visitor : std::vector<VisitorPtr>{visitors_}) drop(visitor);
}

// ---- requests -----------------------------------------------------------------------------------

void Server::serve(const VisitorPtr& visitor, const Ask& ask) {
  if (!visitor->open) return;
  if (!serving_) {
    drop(visitor);
  } else if (ask.kind == Kind::connect) {
    connect(visitor, ask);
  } else {
    line_.touch(number_, visitor->session);
    visitor->queue.push_back(ask);
    go_on(visitor);
  }
}

void Server::connect(const VisitorPtr& visitor, const Ask& ask) {
  if (ask.zxid > tree_.zxid() && mutation_ != Mutation::old_servers_take_clients) {
    drop(visitor);
    return;
  }
  for (const auto& other : std::vector<VisitorPtr>{visitors_}) {
    if (ask.session != 0 && other->session == ask.session) drop(other);
  }
  visitors_.push_back(visitor);
  line_.ask_leader(number_, visitor, ask, [this, visitor](Say answer) {
    if (!visitor->open) return;
    visitor->session = answer.session;
    const bool expired = answer.kind == Say::Kind::expired;
    say(*visitor, std::move(answer));
    if (expired) drop(visitor);
  });
}

// What has arrived is carried out, also when the connection is gone.
void Server::go_on(const VisitorPtr& visitor) {
  while (!visitor->busy && !visitor->queue.empty()) {
    const Ask ask = std::move(visitor->queue.front());
    visitor->queue.pop_front();
    const bool follows = mutation_ == Mutation::sync_stays_at_follower;
    const bool for_leader = ask.kind == Kind::create || ask.kind == Kind::remove ||
                            ask.kind == Kind::write || ask.kind == Kind::close_session;
    if (!for_leader && (ask.kind != Kind::sync || follows)) {
      read(visitor, ask);
      continue;
    }
    visitor->busy = true;
    line_.ask_leader(number_, visitor, ask, [this, visitor, kind = ask.kind](Say answer) {
      visitor->busy = false;
      say(*visitor, std::move(answer));
      const bool over = kind == Kind::close_session || !tree_.sessions().contains(visitor->session);
      over ? drop(visitor) : go_on(visitor);
    });
  }
}

void Server::read(const VisitorPtr& visitor, const Ask& ask) {
  Say answer{.kind = Say::Kind::answer};
  const Tree::Node* node = tree_.find(ask.path);
  const bool watching = ask.watching == Watching::yes;
  switch (ask.kind) {
    case Kind::ping:
      answer.kind = Say::Kind::pong;
      break;
    case Kind::set_watches:
      set_watches(*visitor, ask);
      return;
    case Kind::children:
      answer.code = node != nullptr ? Code::ok : Code::no_node;
      if (node == nullptr) break;
      answer.names = tree_.children(ask.path);
      if (mutation_ == Mutation::removed_nodes_listed) {
        const auto& gone = removed_[ask.path];
        answer.names.insert(answer.names.end(), gone.begin(), gone.end());
      }
      if (watching) visitor->watches.children.insert(ask.path);
      break;
    case Kind::get:
    case Kind::exists:
      answer.code = node != nullptr ? Code::ok : Code::no_node;
      if (node != nullptr) {
        answer.data = node->data;
        answer.stat = node->stat;
        if (watching) visitor->watches.data.insert(ask.path);
      } else if (watching && ask.kind == Kind::exists) {
        visitor->watches.absent.insert(ask.path);
      }
      break;
    default:  // sync, where it is broken
      break;
  }
  say(*visitor, std::move(answer));
}

// What has happened since the client was last told is told at once.
void Server::set_watches(Visitor& visitor, const Ask& ask) {
  const auto happened = [&](EventKind kind, const std::string& path) {
    say(visitor, {.kind = Say::Kind::event, .event = {.kind = kind, .path = path}});
  };
  for (const std::string& path : ask.watches.data) {
    const Tree::Node* node = tree_.find(path);
    if (node == nullptr) {
      happened(EventKind::removed, path);
    } else if (node->stat.created_zxid > ask.zxid) {
      happened(EventKind::changed, path);
    } else {
      visitor.watches.data.insert(path);
    }
  }
  for (const std::string& path : ask.watches.absent) {
    if (tree_.find(path) != nullptr) {
      happened(EventKind::created, path);
    } else {
      visitor.watches.absent.insert(path);
    }
  }
  for (const std::string& path : ask.watches.children) {
    const Tree::Node* node = tree_.find(path);
    if (node == nullptr) {
      if (!ask.watches.data.contains(path)) happened(EventKind::removed, path);
    } else if (node->children_zxid > ask.zxid) {
      happened(EventKind::children, path);
    } else {
      visitor.watches.children.insert(path);
    }
  }
}

// ---- changes ------------------------------------------------------------------------------------

void Server::apply(const Txn& txn) {
  tree_.apply(txn, [this](const NodeEvent& event) { tell(event); });
  if (txn.kind != Txn::Kind::end_session) return;
  for (const auto& visitor : std::vector<VisitorPtr>{visitors_}) {
    // One that has closed its session is dropped when it has been answered.
    if (visitor->session == txn.session && !visitor->busy) drop(visitor);
  }
}

void Server::tell(const NodeEvent& event) {
  if (event.kind == EventKind::removed) {
    const std::string parent = Tree::parent_of(event.path);
    removed_[parent].insert(event.path.substr(parent.size() + 1));
  }
  for (const auto& visitor : visitors_) {
    if (!visitor->watches.take(event)) continue;
    if (mutation_ == Mutation::events_dropped) continue;
    say(*visitor, {.kind = Say::Kind::event, .event = event});
  }
}

}  // namespace simba::zookeeper::rules
