#pragma once

#include <memory>
#include <string>

#include "engine/attachment.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

/// The records of a store for users: holds the store and stays attached to it, and refuses what no
/// store is to be asked.
class CheckedRecords final : public MutexRecords {
 public:
  /// The store keeps records.
  CheckedRecords(std::shared_ptr<LeaseStore> store, std::shared_ptr<Attachment> attachment,
                 const std::shared_ptr<const Runtime>& runtime);

  void read(const std::string& mutex, RecordHandler handler) override;
  void write(const RecordWrite& write, RecordHandler handler) override;

 private:
  RecordHandler counted(RequestKind kind, RecordHandler handler) const;
  void check(const std::string& mutex) const;
  void check(const RecordWrite& write) const;

  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<const StatisticsRecorder> statistics_;  // empty: nothing is counted
  const ForkGuard fork_guard_;
};

}  // namespace simba::engine
