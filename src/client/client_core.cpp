#include "client/client_core.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "simba/core/contender_id_generator.hpp"

namespace simba::detail {

namespace {

using engine::LockAnswer;
using engine::LockOperation;
using engine::LockRequest;
using std::chrono::nanoseconds;

std::string span_text(nanoseconds span) {
  const std::int64_t count = span.count();
  if (count % 1'000'000'000 == 0) return fmt::format("{} s", count / 1'000'000'000);
  if (count % 1'000'000 == 0) return fmt::format("{} ms", count / 1'000'000);
  if (count % 1'000 == 0) return fmt::format("{} us", count / 1'000);
  return fmt::format("{} ns", count);
}

std::string names(const LockOperation& operation) {
  return fmt::format("mutex [{}], contender [{}]", operation.mutex(), operation.contender_id());
}

LockOutcome outcome_of(const LockAnswer& answer) {
  switch (answer.outcome) {
    case LockAnswer::Outcome::held:
      return LockOutcome::held;
    case LockAnswer::Outcome::busy:
      return LockOutcome::busy;
    case LockAnswer::Outcome::timed_out:
      return LockOutcome::timed_out;
    case LockAnswer::Outcome::cancelled:
    case LockAnswer::Outcome::failed:
      break;
  }
  return LockOutcome::cancelled;
}

void check_options(const LockOptions& options) {
  if (options.wait && options.wait->nanoseconds() < nanoseconds::zero()) {
    throw InvalidArgumentError{
        fmt::format("wait must not be negative (got {})", span_text(options.wait->nanoseconds()))};
  }
  if (options.max_hold && options.max_hold->nanoseconds() <= nanoseconds::zero()) {
    throw InvalidArgumentError{fmt::format("max_hold must be positive (got {})",
                                           span_text(options.max_hold->nanoseconds()))};
  }
}

}  // namespace

std::optional<std::chrono::milliseconds> ttl_of(const std::optional<Span>& option) noexcept {
  if (!option) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(option->nanoseconds());
}

ClientCore::ClientCore(MakeFactory make, ClientOptions options)
    : make_{std::move(make)}, options_{std::move(options)} {}

ClientCore::~ClientCore() { close(); }

void ClientCore::check_process() const {
  if (!fork_guard_.in_child()) return;
  throw IllegalStateError{
      "this client belongs to the parent process; create a new client after fork()"};
}

void ClientCore::open() {
  if (closed_) throw IllegalStateError{"the client was closed"};
  if (factory_) return;
  auto factory = std::dynamic_pointer_cast<engine::LeaseServiceFactory>(make_(options_.runtime));
  if (!factory) {
    throw Error{ErrorKind::unsupported,
                "a client needs an engine::LeaseServiceFactory; use the services of this factory "
                "directly"};
  }
  operations_ = std::make_shared<engine::LockOperations>(factory->parts(), options_.executor);
  factory_ = std::move(factory);
}

std::shared_ptr<engine::LeaseServiceFactory> ClientCore::factory() {
  check_process();  // before the lock, which a thread of the parent may hold
  const std::lock_guard lock{mutex_};
  open();
  return factory_;
}

std::shared_ptr<engine::LockOperations> ClientCore::operations() {
  check_process();  // before the lock, which a thread of the parent may hold
  const std::lock_guard lock{mutex_};
  open();
  return operations_;
}

std::shared_ptr<LockOperation> ClientCore::request(LockCall call, std::string name,
                                                   const LockOptions& options) {
  check_options(options);
  const auto operations = this->operations();
  LockRequest request{.mutex = std::move(name),
                      .contender_id = options.id.empty() ? ContenderIdGenerator::unique().generate()
                                                         : options.id.str(),
                      .own_id = options.id.empty()};
  const bool once = options.wait ? options.wait->nanoseconds() == nanoseconds::zero()
                                 : call == LockCall::try_lock;
  if (once) {
    request.wait_mode = LockRequest::WaitMode::ask_once;
  } else if (options.wait) {
    const LocalTime now = operations->runtime().clock->now();
    const nanoseconds wait = options.wait->nanoseconds();
    request.deadline = wait < never - now ? now + wait : never;
  }
  if (options.max_hold && !options.max_hold->is_forever()) {
    request.max_hold = options.max_hold->nanoseconds();
  }
  if (options.ttl) request.plan = factory()->plan_with(ttl_of(options.ttl));
  return operations->make(std::move(request));
}

LockResult ClientCore::wait_for(LockCall call, std::string name, const LockOptions& options,
                                const std::stop_token& stop, std::optional<Span> told_wait) {
  const auto operation = request(call, std::move(name), options);
  const std::optional<Span> wait = told_wait ? told_wait : options.wait;
  const auto later = std::make_shared<Later<LockAnswer>>();
  const auto runtime = operation->parts().runtime;
  if (stop.stop_requested()) {
    const LockAnswer cancelled{.outcome = LockAnswer::Outcome::cancelled};
    if (call == LockCall::lock) throw_if_none(*operation, wait, cancelled);
    return result_of(operation, cancelled);
  }
  operation->start([later](const std::shared_ptr<LockOperation>& /*operation*/, LockAnswer answer) {
    later->set(std::move(answer));
  });
  LockAnswer answer{.outcome = LockAnswer::Outcome::cancelled};
  {
    const std::stop_callback on_stop{stop, [&operation] { operation->cancel(); }};
    try {
      if (auto given = later->wait_until(*runtime->waiter, never)) answer = std::move(*given);
    } catch (...) {  // a waiter that gives up: nobody will take the lock
      operation->cancel();
      operation->unlock({});
      throw;
    }
  }
  LockResult result = result_of(operation, answer);
  if (call == LockCall::lock) throw_if_none(*operation, wait, answer);
  return result;
}

LockResult ClientCore::result_of(const std::shared_ptr<LockOperation>& operation,
                                 const LockAnswer& answer) {
  if (answer.thrown) std::rethrow_exception(answer.thrown);
  const auto& error = answer.error;
  if (answer.outcome == LockAnswer::Outcome::failed && error) {
    const std::string message = names(*operation) + ": " + error->what();
    if (error->kind() == ErrorKind::illegal_state) throw IllegalStateError{message};
    throw Error{error->kind(), message};
  }
  return LockResult{answer.outcome == LockAnswer::Outcome::held ? Lock{operation} : Lock{},
                    outcome_of(answer), answer.holder};
}

void ClientCore::throw_if_none(const LockOperation& operation, const std::optional<Span>& wait,
                               const LockAnswer& answer) {
  if (answer.outcome == LockAnswer::Outcome::held) return;
  std::string message = names(operation);
  if (answer.outcome == LockAnswer::Outcome::cancelled) {
    throw CancelledError{message + ": cancelled while waiting"};
  }
  message += ": not acquired within " + span_text(wait ? wait->nanoseconds() : nanoseconds::zero());
  if (!answer.holder.empty()) message += "; held by [" + answer.holder + "]";
  if (answer.error) message += std::string{"; last store error: "} + answer.error->what();
  throw TimeoutError{message};
}

void ClientCore::close() noexcept {
  if (fork_guard_.in_child()) return;
  std::shared_ptr<engine::LeaseServiceFactory> factory;
  std::shared_ptr<engine::LockOperations> operations;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    factory.swap(factory_);
    operations.swap(operations_);
  }
  if (operations) operations->close();
}

}  // namespace simba::detail
