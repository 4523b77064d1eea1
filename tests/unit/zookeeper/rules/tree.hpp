#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "zookeeper/client/client.hpp"

namespace simba::zookeeper::rules {

/// A change that the leader has decided on.
struct Txn {
  enum class Kind { begin_session, end_session, create, remove, write };
  Kind kind = Kind::create;
  std::int64_t zxid = 0;
  std::int64_t session = 0;  ///< whose session, or 0: of nobody
  std::string path{};        ///< with its sequence number
  std::string data{};
  NodeKind node_kind = NodeKind::persistent;
  StoreTime at{};
};

/// One server's copy of the nodes and sessions. The same changes make the same tree.
class Tree {
 public:
  struct Node {
    std::string data{};
    NodeKind kind = NodeKind::persistent;
    NodeStat stat{};
    std::int64_t children_zxid = 0;  ///< of the last child that came or went
    std::uint64_t creates = 0;       ///< how many children it has ever had
  };
  using Tell = std::function<void(const NodeEvent&)>;

  Tree() { nodes_[""]; }

  /// Tells of every node whose watchers are to be told.
  void apply(const Txn& txn, const Tell& tell);

  std::int64_t zxid() const noexcept { return zxid_; }
  const Node* find(const std::string& path) const;
  /// The names, without the path.
  std::vector<std::string> children(const std::string& path) const;
  bool has_children(const std::string& path) const;
  std::vector<std::string> owned_by(std::int64_t session) const;
  /// Nodes of that kind that have had children and have none now.
  std::vector<std::string> empty_containers() const;
  const std::map<std::int64_t, StoreTime>& sessions() const noexcept { return sessions_; }

  static std::string parent_of(const std::string& path);
  /// As a sequential child of `parent` would be named now.
  static std::string numbered(const std::string& path, std::uint64_t number);

 private:
  void create(const Txn& txn, const Tell& tell);
  void remove(const std::string& path, std::int64_t zxid, const Tell& tell);

  std::int64_t zxid_ = 0;
  std::map<std::string, Node> nodes_;           // by path; "" is the root
  std::map<std::int64_t, StoreTime> sessions_;  // since when
};

}  // namespace simba::zookeeper::rules
