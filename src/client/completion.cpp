#include "simba/client/completion.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "client/client_core.hpp"

namespace simba {

namespace {

class ErrorCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "simba"; }
  std::string message(int value) const override {
    return std::string{to_string(static_cast<ErrorKind>(value - 1))};
  }
};

std::string named(std::string_view who, const engine::LeaseRequest& names) {
  return fmt::format("{} mutex [{}], contender [{}]", who, names.mutex, names.contender_id);
}

/// Without the operation: an executor that has stopped may keep it.
detail::WaitingLine line_for(const engine::LockOperation& operation,
                             std::string_view who) noexcept {
  return {.delays = operation.all().runtime().delays,
          .who = [who, names = operation.names()] { return named(who, *names); }};
}

}  // namespace

const std::error_category& error_category() noexcept {
  static const ErrorCategory category;
  return category;
}

std::error_code make_error_code(ErrorKind kind) noexcept {
  return {static_cast<int>(kind) + 1, error_category()};
}

namespace detail {

std::error_code code_of(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const CancelledError&) {
    return std::make_error_code(std::errc::operation_canceled);
  } catch (const Error& error) {
    return make_error_code(error.kind());
  } catch (...) {
    return make_error_code(ErrorKind::internal);
  }
}

PreparedLock prepare_lock(const Client& client, LockCall call, std::string name,
                          LockOptions options) noexcept {
  try {
    auto operation = ClientCore::of(client)->request(call, std::move(name), options);
    return {.operation = std::move(operation), .call = call, .wait = options.wait};
  } catch (...) {
    return {.operation = {}, .call = call, .wait = {}, .failure = std::current_exception()};
  }
}

void PreparedLock::start(Handler<LockResult> handler) const {
  if (failure) {
    handler(Completion<LockResult>::failed(failure));
    return;
  }
  operation->start(
      [call = call, wait = wait, handler = std::move(handler)](
          const std::shared_ptr<engine::LockOperation>& locked, const engine::LockAnswer& answer) {
        Completion<LockResult> completion;
        try {
          completion.value = ClientCore::result_of(locked, answer);
          if (call == LockCall::lock) ClientCore::throw_if_none(*locked, wait, answer);
        } catch (...) {
          completion = Completion<LockResult>::failed(std::current_exception());
        }
        handler(std::move(completion));
      });
}

void PreparedLock::cancel() const noexcept {
  if (operation) operation->cancel();
}

Dispatch PreparedLock::dispatch() const {
  return [operation = operation](std::function<void()> task) {
    operation->all().dispatch(named("a coroutine that awaits", *operation->names()),
                              std::move(task));
  };
}

WaitingLine PreparedLock::line() const noexcept {
  return operation ? line_for(*operation, "a handler that awaits") : WaitingLine{};
}

void start_unlock(Lock lock, SmallFunction<void(bool confirmed)> handler) {
  const auto operation = ClientCore::take(lock);
  if (!operation || operation->in_forked_child()) {
    handler(true);
    return;
  }
  operation->unlock(std::move(handler));
}

Dispatch dispatch_of(const Lock& lock) {
  const auto operation = ClientCore::of(lock);
  return [operation](std::function<void()> task) {
    operation->all().dispatch(named("a coroutine that awaits the release of", *operation->names()),
                              std::move(task));
  };
}

Dispatch dispatch_of(const Client& client, const std::string& name) {
  return [all = ClientCore::of(client)->operations(), name](std::function<void()> task) {
    all->dispatch("a coroutine that awaits the owner of mutex [" + name + "]", std::move(task));
  };
}

WaitingLine line_of(const Lock& lock) noexcept {
  const auto& operation = ClientCore::of(lock);
  return operation ? line_for(*operation, "a handler that awaits the release of") : WaitingLine{};
}

WaitingLine line_of(const Client& client, const std::string& name) noexcept {
  try {
    return {.delays = ClientCore::of(client)->operations()->runtime().delays,
            .who = [name] { return "a handler that awaits the owner of mutex [" + name + "]"; }};
  } catch (...) {  // out of memory, or the client cannot be used
    return {};
  }
}

void start_owner(const Client& client, const std::string& name, Handler<MutexOwner> handler) {
  const auto shared = std::make_shared<Handler<MutexOwner>>(std::move(handler));
  try {
    engine::retrieve_owner(
        ClientCore::of(client)->operations()->parts(), name, [shared](engine::OwnerAnswer answer) {
          if (answer.error) {
            (*shared)(
                Completion<MutexOwner>::failed(std::make_exception_ptr(Error{*answer.error})));
          } else {
            (*shared)({.value = std::move(answer.owner)});
          }
        });
  } catch (...) {
    (*shared)(Completion<MutexOwner>::failed(std::current_exception()));
  }
}

}  // namespace detail

}  // namespace simba
