#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simba/engine/lease_store.hpp"
#include "zookeeper/session/session.hpp"

namespace simba::zookeeper {

/// What a store says of an owner that is someone else. How long its session still lasts is not
/// known: at least as long as ours would, unless it ends it.
engine::LeaseRecord record_of(std::string owner_id, const NodeStat& stat, const Session& session);

/// Looks who owns a mutex: whose node has the lowest sequence.
///
/// Threads: in the strand.
/// Lifetime: keeps itself until it has answered, or the session has ended.
class OwnerSearch : public std::enable_shared_from_this<OwnerSearch> {
 public:
  /// `watched`: the path whose next change will be told, where that was asked for. It is that of
  /// the owner's node, or that of the mutex while nobody owns it.
  using Found = std::function<void(engine::LeaseAnswer answer, const std::string& watched)>;

  OwnerSearch(std::shared_ptr<Session> session, std::string mutex_path, Watching watching,
              Found found);

  void begin();

 private:
  void listed(Code code, const std::vector<std::string>& names, Watching watching);
  void look_at(const std::string& node);
  void wait_for_the_mutex();
  void nobody(const std::string& watched);
  void failed(Code code, const std::string& what, const std::string& path);

  // constant after construction
  const std::shared_ptr<Session> session_;
  const std::string mutex_path_;
  const Watching watching_;
  const Found found_;

  int rounds_ = 0;
};

}  // namespace simba::zookeeper
