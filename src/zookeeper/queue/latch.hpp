#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simba/engine/lease_store.hpp"
#include "zookeeper/session/session.hpp"

namespace simba::zookeeper {

class Latch;

/// Whom a latch tells.
class LatchHost {
 public:
  virtual ~LatchHost() = default;

  /// It leads, and nobody has asked meanwhile. Says whether someone has heard it.
  virtual bool latch_leads(const Latch& latch, const engine::LeaseRecord& record) = 0;

  /// Its node was removed by someone else, or is of no use; it is over. `led`: as its contender
  /// knows.
  virtual void latch_lost(const Latch& latch, bool led) = 0;

  /// It is not where it should be, though its node is there: it is to leave.
  virtual void latch_displaced(const Latch& latch) = 0;

  /// It has left; it is over.
  virtual void latch_left(const Latch& latch) = 0;
};

/// One contender's place in the queue of one mutex: its node, from the wish to have one until it
/// is gone for certain.
///
/// Of the node:      none --> creating --> there --> removing --> (over)
///                              |   ^
///         answer lost          v   | found, or made again
///                            in_doubt
/// Of the place:     unknown (a look is under way) --> waiting for the one before it, or leading.
///
/// What may go wrong, and what is done about it:
/// - the answer to the creation is lost: after the reconnect, and after a `sync`, so that the
///   server has all that was decided, the node is looked for by its uuid;
/// - any other answer is lost: it is asked again after the reconnect;
/// - the connection breaks: nobody is granted or renewed until the place has been looked at again;
/// - the node was removed by someone else: its contender is told, at once where it leads;
/// - someone is before one that leads, or the sequence numbers are used up: it leaves;
/// - the parents vanish (containers do when they are empty): they are made again;
/// - it is to leave while anything of that goes on: it goes on leaving until the node is gone or
///   the session has ended.
///
/// Threads: in the strand.
class Latch : public std::enable_shared_from_this<Latch> {
 public:
  Latch(std::shared_ptr<Session> session, std::string mutex_path, std::string contender_id,
        std::string prefix, LatchHost& host);

  const std::string& mutex_path() const noexcept { return mutex_path_; }
  const std::string& contender_id() const noexcept { return contender_id_; }

  /// Whether its contender has been told that it owns the mutex.
  bool granted() const noexcept { return granted_; }

  /// A moment before its contender was told so.
  LocalTime granted_at() const noexcept { return granted_at_; }

  /// Whether it waits, and will be told when its turn comes.
  bool waiting() const noexcept { return place_ == Place::waiting && !stale_ && !looking_; }

  /// Of the ownership that this node stands for; 0 while it is not known.
  FencingToken token() const noexcept { return static_cast<FencingToken>(stat_.created_zxid); }

  /// What it tells of itself while it leads.
  engine::LeaseRecord own_record() const;

  /// Creates the node. Once.
  void begin();

  /// Answers when its place is known: with its own record, or that of the owner. Not once it is
  /// leaving.
  void ask(engine::AnswerHandler handler);

  /// Answers with its own record while it leads.
  void guard(engine::AnswerHandler handler);

  /// Removes the node. Answers when that is done; when it fails, with an error, and goes on.
  void leave(engine::AnswerHandler handler);

  /// Tells that it leads, if it does and nobody knows.
  void tell();

  void node_changed(const NodeEvent& event);
  void session_suspended();
  void session_resumed();
  /// Finishes what a lost answer or a lack of proof has left undone.
  void mend();
  void session_ended();
  /// Fails all that waits for an answer.
  void close(const Error& error);

 private:
  enum class Node { none, creating, in_doubt, there, removing };
  enum class Place { unknown, waiting, leading };
  using Handlers = std::vector<engine::AnswerHandler>;

  void created(Code code, const std::string& path, const NodeStat& stat);
  void create_parents();
  void settle_doubt();
  void still_in_doubt(Code code, const std::string& what, const std::string& path);
  void find_own();
  void find_own_among(const std::vector<std::string>& names);
  void adopted(const NodeStat& stat);

  void look();
  void listed(Code code, const std::vector<std::string>& names);
  void lead();
  void watch_own();
  bool long_unwatched();
  void wait_behind(const std::string& predecessor, const std::string& owner);
  void seen(Code code, const std::string& node, const std::string& data, const NodeStat& stat);

  void remove();
  void removed(Code code);
  void vanished();
  void give_up(const Error& error);
  void missed(Code code, const std::string& what, const std::string& path);

  std::string own_path() const { return mutex_path_ + "/" + name_; }
  engine::LeaseAnswer held_by_other() const;
  static void answer(Handlers& handlers, const engine::LeaseAnswer& answer);
  void fail(const Error& error);

  // constant after construction
  const std::shared_ptr<Session> session_;
  const std::string mutex_path_;
  const std::string contender_id_;
  const std::string prefix_;
  LatchHost& host_;

  Node node_ = Node::none;
  Place place_ = Place::unknown;
  std::string name_;  // of the node, once it is known
  NodeStat stat_;     // of the node, once it is there
  int parents_made_ = 0;

  int rounds_ = 0;               // looks in a row that have come to nothing
  std::uint64_t look_ = 0;       // the newest look; answers to older ones are worth nothing
  std::string predecessor_;      // its path, while waiting
  std::string first_;            // the path of the owner, as this look has seen
  std::string owner_node_;       // its path, of the owner that we know
  engine::LeaseRecord owner_{};  // the owner that we know
  int unseen_ = 0;               // answers that this look still waits for
  int unwatched_ = 0;            // ticks for which an owner has had no watch on its node
  bool looking_ = false;         // a look is under way
  bool stale_ = false;           // an answer was lost, or the connection was
  bool settling_ = false;        // the doubt is being settled
  bool granted_ = false;
  LocalTime granted_at_ = never;
  bool leaving_ = false;
  bool over_ = false;

  Handlers asks_;
  Handlers guards_;
  Handlers leaves_;
};

}  // namespace simba::zookeeper
