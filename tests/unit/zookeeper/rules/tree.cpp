#include "unit/zookeeper/rules/tree.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace simba::zookeeper::rules {

using EventKind = NodeEvent::Kind;

void Tree::apply(const Txn& txn, const Tell& tell) {
  if (txn.zxid <= zxid_) throw std::logic_error{"a change is applied twice"};
  zxid_ = txn.zxid;
  switch (txn.kind) {
    case Txn::Kind::begin_session:
      sessions_.emplace(txn.session, txn.at);
      break;
    case Txn::Kind::end_session:
      for (const std::string& path : owned_by(txn.session)) remove(path, txn.zxid, tell);
      sessions_.erase(txn.session);
      break;
    case Txn::Kind::create:
      create(txn, tell);
      break;
    case Txn::Kind::remove:
      remove(txn.path, txn.zxid, tell);
      break;
    case Txn::Kind::write: {
      Node& node = nodes_.at(txn.path);
      node.data = txn.data;
      ++node.stat.version;
      tell({.kind = EventKind::changed, .path = txn.path});
      break;
    }
  }
}

void Tree::create(const Txn& txn, const Tell& tell) {
  const bool ephemeral = txn.node_kind == NodeKind::ephemeral_sequential;
  Node node{.data = txn.data, .kind = txn.node_kind};
  node.stat = {
      .created_zxid = txn.zxid, .created_at = txn.at, .session = ephemeral ? txn.session : 0};
  node.children_zxid = txn.zxid;
  const std::string parent = parent_of(txn.path);
  Node& above = nodes_.at(parent);
  ++above.creates;
  above.children_zxid = txn.zxid;
  nodes_.emplace(txn.path, std::move(node));
  tell({.kind = EventKind::created, .path = txn.path});
  tell({.kind = EventKind::children, .path = parent});
}

void Tree::remove(const std::string& path, std::int64_t zxid, const Tell& tell) {
  nodes_.erase(path);
  const std::string parent = parent_of(path);
  nodes_.at(parent).children_zxid = zxid;
  tell({.kind = EventKind::removed, .path = path});
  tell({.kind = EventKind::children, .path = parent});
}

const Tree::Node* Tree::find(const std::string& path) const {
  const auto found = nodes_.find(path == "/" ? "" : path);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<std::string> Tree::children(const std::string& path) const {
  const std::string prefix = (path == "/" ? "" : path) + "/";
  std::vector<std::string> names;
  for (auto it = nodes_.lower_bound(prefix); it != nodes_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    std::string name = it->first.substr(prefix.size());
    if (name.find('/') == std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

bool Tree::has_children(const std::string& path) const {
  const auto next = nodes_.lower_bound(path + "/");
  return next != nodes_.end() && next->first.starts_with(path + "/");
}

std::vector<std::string> Tree::owned_by(std::int64_t session) const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) {
    if (session != 0 && node.stat.session == session) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> Tree::empty_containers() const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) {
    const bool used = node.kind == NodeKind::container && node.creates > 0;
    if (used && !has_children(path)) paths.push_back(path);
  }
  return paths;
}

std::string Tree::parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string Tree::numbered(const std::string& path, std::uint64_t number) {
  return fmt::format("{}{:010}", path, number);
}

}  // namespace simba::zookeeper::rules
