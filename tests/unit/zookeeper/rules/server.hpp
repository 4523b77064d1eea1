#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/rules/world.hpp"
#include "unit/zookeeper/rules/mutation.hpp"
#include "unit/zookeeper/rules/packets.hpp"
#include "unit/zookeeper/rules/tree.hpp"

namespace simba::zookeeper::rules {

using simba::rules::Actor;
using simba::rules::World;

/// What a server knows of one connection.
struct Visitor {
  std::string name{};
  std::int64_t session = 0;  ///< 0: not yet welcome
  bool open = true;
  bool busy = false;  ///< the leader has been asked; the rest waits
  std::deque<Ask> queue{};
  Watches watches{};
  std::function<void(Say)> say{};   ///< puts it on its way
  std::function<void()> dropped{};  ///< the server has closed the connection
};
using VisitorPtr = std::shared_ptr<Visitor>;

/// What a server asks of the leader. The handler is called when this server has got there.
class LeaderLine {
 public:
  virtual ~LeaderLine() = default;
  using Handler = std::function<void(Say)>;
  virtual void ask_leader(std::size_t server, const VisitorPtr& visitor, const Ask& ask,
                          Handler handler) = 0;
  virtual void touch(std::size_t server, std::int64_t session) = 0;
};

/// One server of the ensemble as its clients see it: it answers reads by its own copy of the tree
/// and takes the rest to the leader, each client's requests in their order.
class Server {
 public:
  Server(World& world, std::size_t number, LeaderLine& line, Mutation mutation);

  Actor& actor() noexcept { return actor_; }
  const Tree& tree() const noexcept { return tree_; }
  bool serving() const noexcept { return serving_; }
  const std::vector<VisitorPtr>& visitors() const noexcept { return visitors_; }

  void serve(const VisitorPtr& visitor, const Ask& ask);
  /// The connection is gone at this end.
  void forget(const VisitorPtr& visitor);
  /// Closes the connection.
  void drop(const VisitorPtr& visitor);

  // ---- what the ensemble does with it
  void apply(const Txn& txn);
  void begin_serving() { serving_ = true; }
  /// Closes every connection.
  void end_serving();
  /// Sessions heard of since this was last called.
  std::set<std::int64_t> take_touched() { return std::exchange(touched_, {}); }
  void note_touch(std::int64_t session) { touched_.insert(session); }

 private:
  void connect(const VisitorPtr& visitor, const Ask& ask);
  void go_on(const VisitorPtr& visitor);
  void read(const VisitorPtr& visitor, const Ask& ask);
  void set_watches(Visitor& visitor, const Ask& ask);
  void tell(const NodeEvent& event);
  void say(Visitor& visitor, Say what);

  const std::size_t number_;
  LeaderLine& line_;
  const Mutation mutation_;
  Actor actor_;
  Tree tree_;
  bool serving_ = true;
  std::vector<VisitorPtr> visitors_;
  std::set<std::int64_t> touched_;
  std::map<std::string, std::set<std::string>> removed_;  // names by parent
};

}  // namespace simba::zookeeper::rules
