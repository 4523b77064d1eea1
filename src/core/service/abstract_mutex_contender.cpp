#include "simba/core/abstract_mutex_contender.hpp"

#include <utility>

#include <fmt/format.h>

#include "simba/core/contender_id_generator.hpp"
#include "simba/core/names.hpp"

namespace simba {

AbstractMutexContender::AbstractMutexContender(std::string mutex)
    : AbstractMutexContender{std::move(mutex), ContenderIdGenerator::unique().generate()} {}

AbstractMutexContender::AbstractMutexContender(std::string mutex, std::string contender_id,
                                               std::shared_ptr<Logger> log)
    : mutex_{std::move(mutex)}, contender_id_{std::move(contender_id)}, log_{std::move(log)} {
  check_not_blank("mutex name", mutex_);
  check_not_blank("contender id", contender_id_);
}

void AbstractMutexContender::on_acquired(const MutexState& state) {
  write(fmt::format("mutex [{}] acquired by [{}], fencing token {}", mutex_, contender_id_,
                    state.after().fencing_token()));
}

void AbstractMutexContender::on_released(const MutexState& state) {
  const auto& next = state.after().owner_id();
  write(fmt::format("mutex [{}] released by [{}], {}", mutex_, contender_id_,
                    next.empty() ? "no known owner" : fmt::format("now owned by [{}]", next)));
}

void AbstractMutexContender::served_with(const std::shared_ptr<Logger>& log) {
  const std::lock_guard lock{log_mutex_};
  runtime_log_ = log;
}

void AbstractMutexContender::write(const std::string& line) const {
  std::shared_ptr<Logger> log = log_;
  if (!log) {
    const std::lock_guard lock{log_mutex_};
    log = runtime_log_.lock();
  }
  if (!log) log = make_default_logger();
  log->log(LogLevel::info, line);
}

}  // namespace simba
