#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"

namespace file_store {

/// A store in a folder, for the processes of one machine: one file a mutex, changed under `flock`.
/// It shows what a store needs and no more.
///
/// The clock is the machine's own (CLOCK_BOOTTIME), so a lease of an earlier boot is over. Waiters
/// and observers look at their file every `look_every`. A waiter that comes first need not be
/// served first.
///
/// Not guaranteed: an answer at once while another process is paused inside a request, since that
/// holds the file's lock; tokens that grow past a power cut, since nothing is synced to the disk;
/// anything on a network file system.
///
/// Threads: every function may be called from any thread. Answers come inside the call.
class FileStore final : public simba::engine::LeaseStore {
 public:
  /// Throws std::filesystem::filesystem_error where the folder can not be made.
  FileStore(std::filesystem::path folder, std::shared_ptr<const simba::Runtime> runtime,
            std::chrono::milliseconds look_every = std::chrono::milliseconds{20});

  /// A file name holds 255 bytes, a character up to 4.
  simba::NameLimits name_limits() const noexcept override { return {.mutex = 63}; }

  void acquire(const simba::engine::LeaseRequest& request,
               simba::engine::AnswerHandler handler) override;
  void guard(const simba::engine::LeaseRequest& request,
             simba::engine::AnswerHandler handler) override;
  void release(const simba::engine::LeaseRequest& request, simba::FencingToken token,
               simba::engine::AnswerHandler handler) override;
  void retrieve(const simba::engine::LeaseRequest& request,
                simba::engine::AnswerHandler handler) override;
  std::unique_ptr<simba::engine::Watch> watch(const simba::engine::LeaseRequest& request,
                                              simba::engine::NoticeHandler handler) override;

 private:
  struct Entry;
  class File;
  class Look;

  /// Tells whether it changed the entry. `now` is in milliseconds since the boot.
  using Change = std::function<bool(Entry& entry, std::int64_t now)>;

  simba::engine::LeaseAnswer under_lock(const std::string& mutex, const Change& change) const;
  std::filesystem::path path_of(const std::string& mutex) const;

  // constant after construction
  const std::filesystem::path folder_;
  const std::shared_ptr<const simba::Runtime> runtime_;
  const std::chrono::milliseconds look_every_;
  const std::string boot_;
};

}  // namespace file_store
