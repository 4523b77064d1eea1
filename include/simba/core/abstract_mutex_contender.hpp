#pragma once

#include <memory>
#include <string>

#include "simba/core/log.hpp"
#include "simba/core/mutex_contender.hpp"

namespace simba {

/// A contender with names and with callbacks that log. Override what you need.
class AbstractMutexContender : public MutexContender {
 public:
  /// Takes an id that nobody else has (`ContenderIdGenerator::unique()`).
  /// Throws InvalidArgumentError where `mutex` is blank.
  explicit AbstractMutexContender(std::string mutex);

  /// Throws InvalidArgumentError where a name is blank. An empty `log` means the default logger.
  AbstractMutexContender(std::string mutex, std::string contender_id,
                         std::shared_ptr<Logger> log = {});

  const std::string& mutex() const noexcept final { return mutex_; }
  const std::string& contender_id() const noexcept final { return contender_id_; }

  void on_acquired(const MutexState& state) override;
  void on_released(const MutexState& state) override;

 private:
  const std::string mutex_;
  const std::string contender_id_;
  const std::shared_ptr<Logger> log_;
};

}  // namespace simba
