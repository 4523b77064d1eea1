#include "cli/long_running.hpp"

#include <array>
#include <csignal>
#include <poll.h>
#include <variant>

#include "cli/child/lease_keeper.hpp"

namespace simba::cli {

void LongRunning::answered(const MutexContender& contender, const MutexState& state) {
  const std::string& owner = state.after().owner_id();
  const auto deadlock = deadlock_with(contender.mutex(), owner);
  const std::lock_guard lock{mutex_};
  answered_ = true;
  if (!deadlock || owner == contender.contender_id()) return;
  refusal_ = Failure{ExitCode::usage, *deadlock};
  wake_up_.raise();
}

void LongRunning::note(const MutexContender& contender, const ContentionEvent& event) {
  const auto* failed = std::get_if<AcquireFailed>(&event);
  const auto* lost = std::get_if<OwnershipLost>(&event);
  std::optional<Error> error;
  if (failed != nullptr && !failed->error.is_transient()) error = failed->error;
  if (lost != nullptr && lost->reason == LossReason::duplicate_id) {
    error = duplicate_id_error(contender.contender_id());
  }
  if (!error) return;
  {
    const std::lock_guard lock{mutex_};
    if (answered_ && error->kind() != ErrorKind::duplicate_id) return;
    refusal_ = to_failure(*error);
  }
  wake_up_.raise();
}

void LongRunning::wait_for_end(Signals& signals, const Look& look) {
  try {
    wait(signals, look);
  } catch (...) {
    ended_by_ = std::current_exception();
  }
}

void LongRunning::wait(Signals& signals, const Look& look) {
  for (;;) {
    const auto pause = look();
    if (!pause) return;
    std::array<pollfd, 2> files{{{signals.file(), POLLIN, 0}, {wake_up_.descriptor(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), static_cast<int>(pause->count()));
    wake_up_.clear();
    while (const int signal = signals.next()) {
      if (signal == SIGTSTP) {
        ::raise(SIGSTOP);
      } else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
        return;
      }
    }
    check();
  }
}

void LongRunning::check() {
  if (ended_by_) std::rethrow_exception(ended_by_);
  const std::lock_guard lock{mutex_};
  if (refusal_) throw Failure{*refusal_};
}

}  // namespace simba::cli
