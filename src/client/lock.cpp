#include "simba/client/lock.hpp"

#include <ostream>
#include <utility>

#include "client/client_core.hpp"
#include "core/text.hpp"

namespace simba {

namespace {

// Never destroyed: threads may ask for it while the process ends.
const std::string& no_name() noexcept {
  static const std::string& empty =
      *new std::string;  // NOLINT(bugprone-unhandled-exception-at-new)
  return empty;
}

std::stop_token fired_token() {
  std::stop_source fired;
  fired.request_stop();
  return fired.get_token();
}

std::string text(const Span& span) {
  return span.is_forever() ? "forever" : detail::seconds_text(span.nanoseconds());
}

}  // namespace

std::string to_string(const LockOptions& options) {
  std::string set;
  const auto add = [&](std::string_view name, std::string_view value) {
    set.append(set.empty() ? "" : ", ").append(name).append(" ").append(value);
  };
  if (options.wait) add("wait", text(*options.wait));
  if (options.max_hold) add("max hold", text(*options.max_hold));
  if (!options.id.empty()) add("id", options.id.view());
  if (options.ttl) add("ttl", text(*options.ttl));
  return set.empty() ? "defaults" : set;
}

std::ostream& operator<<(std::ostream& out, const LockOptions& options) {
  return out << to_string(options);
}

namespace detail {

Loss loss_of(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::expired:
      return Loss::expired;
    case LossReason::taken_over:
      return Loss::taken_over;
    case LossReason::revoked:
      return Loss::revoked;
    case LossReason::duplicate_id:
      break;
  }
  return Loss::duplicate_id;
}

}  // namespace detail

std::string_view to_string(Loss loss) noexcept {
  switch (loss) {
    case Loss::expired:
      return "expired";
    case Loss::taken_over:
      return "taken over";
    case Loss::revoked:
      return "revoked";
    case Loss::duplicate_id:
      return "duplicate id";
    case Loss::max_hold:
      return "maximum hold";
    case Loss::given_up:
      return "given up";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, Loss loss) { return out << to_string(loss); }

std::string_view to_string(LockOutcome outcome) noexcept {
  switch (outcome) {
    case LockOutcome::held:
      return "held";
    case LockOutcome::busy:
      return "busy";
    case LockOutcome::timed_out:
      return "timed out";
    case LockOutcome::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, LockOutcome outcome) {
  return out << to_string(outcome);
}

CancelledError::CancelledError(const std::string& message)
    : Error{ErrorKind::illegal_state, message} {}

Lock::~Lock() { unlock(); }

Lock& Lock::operator=(Lock&& other) noexcept {
  if (this == &other) return *this;
  unlock();
  operation_ = std::move(other.operation_);
  return *this;
}

bool Lock::held() const noexcept { return operation_ && operation_->held(); }

FencingToken Lock::fencing_token() const noexcept {
  return operation_ ? operation_->fencing_token() : 0;
}

std::stop_token Lock::lost() const {
  return operation_ && !operation_->in_forked_child() ? operation_->lost() : fired_token();
}

std::optional<Loss> Lock::loss() const noexcept {
  if (!operation_) return std::nullopt;
  if (operation_->overdue()) return Loss::max_hold;
  const auto reason = operation_->loss();
  return reason ? std::optional{detail::loss_of(*reason)} : std::nullopt;
}

std::chrono::nanoseconds Lock::lease_left() const noexcept {
  return operation_ ? operation_->lease_left() : std::chrono::nanoseconds::zero();
}

const std::string& Lock::name() const noexcept {
  return operation_ ? operation_->mutex() : no_name();
}

const std::string& Lock::owner_id() const noexcept {
  return operation_ ? operation_->contender_id() : no_name();
}

bool Lock::verify() const {
  if (!operation_ || !operation_->held()) return false;
  engine::LeaseParts parts = operation_->parts();
  const auto waiter = parts.runtime->waiter;
  const auto later = std::make_shared<detail::Later<engine::OwnerAnswer>>();
  engine::retrieve_owner(std::move(parts), operation_->mutex(),
                         [later](engine::OwnerAnswer answer) { later->set(std::move(answer)); });
  const auto answer = later->wait_until(*waiter, never);  // there is one within the request timeout
  if (!answer) return false;
  if (answer->error) throw Error{*answer->error};
  // A renewal may have raised the token.
  return answer->owner.is_owner(operation_->contender_id()) &&
         answer->owner.fencing_token() >= operation_->fencing_token() && operation_->held();
}

void Lock::unlock() noexcept {
  const auto operation = std::exchange(operation_, nullptr);
  if (operation && !operation->in_forked_child()) operation->unlock({});
}

bool Lock::unlock_confirmed() {
  const auto operation = std::exchange(operation_, nullptr);
  if (!operation || operation->in_forked_child()) return true;
  const auto later = std::make_shared<detail::Later<bool>>();
  const engine::LeaseParts parts = operation->parts();
  operation->unlock([later](bool confirmed) { later->set(confirmed); });
  const LocalTime deadline = parts.runtime->clock->now() + parts.plan->release_wait;
  return later->wait_until(*parts.runtime->waiter, deadline).value_or(false);
}

}  // namespace simba
