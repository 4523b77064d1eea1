#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/core/mutex_records.hpp"
#include "zookeeper/session/session.hpp"

namespace simba::zookeeper {

/// One request about the record of a mutex, which is the data of a node beside its queue.
///
/// It looks, after a `sync`, at the record and, if a write names its owner, at the first node of
/// the queue, which says who owns the mutex since when. From that it decides. What it then writes
/// is conditional on the version of the record and on that the owner's node is still there: nobody
/// gets in before a node that was the first once. If something has changed in between it looks
/// again.
///
/// Threads: in the strand.
class RecordRequest : public std::enable_shared_from_this<RecordRequest> {
 public:
  struct Paths {
    std::string mutex{};
    std::string record{};
  };

  /// `write` empty: a read. `answered` is called once.
  RecordRequest(std::shared_ptr<Session> session, std::shared_ptr<const Clock> clock, Paths paths,
                std::optional<RecordWrite> write, RecordHandler answered);

  void begin();

  /// Nothing more comes of the session.
  void session_over(const Error& error);

 private:
  void record_read(Code code, const std::string& data, const NodeStat& stat);
  void owner_listed(Code code, const std::vector<std::string>& names);
  void owner_read(Code code, const std::string& node, const std::string& data,
                  const NodeStat& stat);
  void seen();
  void decide();
  void send(const std::string& text);
  void written(Code code, const std::string& text);
  void create_parent();
  void answer(RecordAnswer::Outcome outcome);
  void fail(Code code, const std::string& what, const std::string& path);
  void finish(const RecordResult& result);

  // constant after construction
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const Clock> clock_;
  const Paths paths_;
  const std::optional<RecordWrite> write_;
  const RecordHandler answered_;

  bool over_ = false;
  bool sent_ = false;  // the write, and its outcome is not known
  bool parent_made_ = false;
  int rounds_ = 0;
  int unseen_ = 0;          // answers that this round still waits for
  MutexRecord record_{};    // as this round has seen it
  std::string owner_node_;  // the path of the owner's; empty: the writer is not the owner
};

}  // namespace simba::zookeeper
