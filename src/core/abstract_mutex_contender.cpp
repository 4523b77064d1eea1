#include "simba/core/abstract_mutex_contender.hpp"

#include <utility>

#include <fmt/format.h>

#include "simba/core/contender_id_generator.hpp"
#include "simba/core/names.hpp"

namespace simba {
namespace {

/// Makes the default logger only when there is something to write: a process may have thousands of
/// contenders whose callbacks are overridden.
void write(const std::shared_ptr<Logger>& given, const std::string& line) {
  const auto log = given ? given : make_default_logger();
  log->log(LogLevel::info, line);
}

}  // namespace

AbstractMutexContender::AbstractMutexContender(std::string mutex)
    : AbstractMutexContender{std::move(mutex), ContenderIdGenerator::unique().generate()} {}

AbstractMutexContender::AbstractMutexContender(std::string mutex, std::string contender_id,
                                               std::shared_ptr<Logger> log)
    : mutex_{std::move(mutex)}, contender_id_{std::move(contender_id)}, log_{std::move(log)} {
  check_not_blank("mutex name", mutex_);
  check_not_blank("contender id", contender_id_);
}

void AbstractMutexContender::on_acquired(const MutexState& state) {
  write(log_, fmt::format("mutex [{}] acquired by [{}], fencing token {}", mutex_, contender_id_,
                          state.after().fencing_token()));
}

void AbstractMutexContender::on_released(const MutexState& state) {
  const auto& next = state.after().owner_id();
  write(log_,
        fmt::format("mutex [{}] released by [{}], {}", mutex_, contender_id_,
                    next.empty() ? "no owner known" : fmt::format("now owned by [{}]", next)));
}

}  // namespace simba
