#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "simba/core/log.hpp"
#include "simba/core/mutex_contender.hpp"

namespace simba {

/// A contender that stores its names and whose callbacks only log. Override what you need.
class AbstractMutexContender : public MutexContender {
 public:
  /// Generates a globally unique contender id (`ContenderIdGenerator::unique()`).
  /// Throws InvalidArgumentError if `mutex` is blank.
  explicit AbstractMutexContender(std::string mutex);

  /// Throws InvalidArgumentError if a name is blank. If `log` is empty, the log of the runtime that
  /// its service runs on is used.
  AbstractMutexContender(std::string mutex, std::string contender_id,
                         std::shared_ptr<Logger> log = {});

  const std::string& mutex() const noexcept final { return mutex_; }
  const std::string& contender_id() const noexcept final { return contender_id_; }

  void on_acquired(const MutexState& state) override;
  void on_released(const MutexState& state) override;

 private:
  friend class AbstractMutexContendService;

  /// A service for it starts on a runtime with this log.
  void served_with(const std::shared_ptr<Logger>& log);
  void write(const std::string& line) const;

  const std::string mutex_;
  const std::string contender_id_;
  const std::shared_ptr<Logger> log_;  // what it was given

  mutable std::mutex log_mutex_;
  std::weak_ptr<Logger> runtime_log_;  // guarded by log_mutex_; it keeps no runtime alive
};

}  // namespace simba
