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

/// Notices that a handler waits for an executor of the user.
detail::WaitingLine make_line(const engine::LockOperations& all, std::string who,
                              const void* threads) {
  const auto& delays = all.runtime().delays;
  if (!delays) return nullptr;
  return std::make_unique<DelayMonitor::Line>(delays, std::move(who), threads,
                                              "its executor is busy or has stopped");
}

/// Formatted in one go, since every lock needs it.
std::string named(std::string_view who, const engine::LockOperation& operation) {
  return fmt::format("{} mutex [{}], contender [{}]", who, operation.mutex(),
                     operation.contender_id());
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

void PreparedLock::start(const Handler<LockResult>& handler) const {
  if (failure) {
    handler(Completion<LockResult>::failed(failure));
    return;
  }
  auto answered = [operation = operation, call = call, wait = wait,
                   handler = handler](const engine::LockAnswer& answer) {
    Completion<LockResult> completion;
    try {
      completion.value = ClientCore::result_of(operation, answer);
      if (call == LockCall::lock) ClientCore::throw_if_none(*operation, wait, answer);
    } catch (...) {
      completion = Completion<LockResult>::failed(std::current_exception());
    }
    handler(std::move(completion));
  };
  try {
    operation->start(std::move(answered));
  } catch (...) {
    handler(Completion<LockResult>::failed(std::current_exception()));
  }
}

void PreparedLock::cancel() const noexcept {
  if (operation) operation->cancel();
}

Dispatch PreparedLock::dispatch() const {
  return [operation = operation](std::function<void()> task) {
    operation->all().dispatch(named("a coroutine that awaits", *operation), std::move(task));
  };
}

WaitingLine PreparedLock::line(const void* threads) const noexcept {
  try {
    if (!operation) return nullptr;
    return make_line(operation->all(), named("a handler that awaits", *operation), threads);
  } catch (...) {  // out of memory
    return nullptr;
  }
}

void start_unlock(Lock lock, std::function<void(bool confirmed)> handler) {
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
    operation->all().dispatch(named("a coroutine that awaits the release of", *operation),
                              std::move(task));
  };
}

Dispatch dispatch_of(const Client& client, const std::string& name) {
  return [all = ClientCore::of(client)->operations(), name](std::function<void()> task) {
    all->dispatch("a coroutine that awaits the owner of mutex [" + name + "]", std::move(task));
  };
}

WaitingLine line_of(const Lock& lock, const void* threads) noexcept {
  try {
    const auto& operation = ClientCore::of(lock);
    if (!operation) return nullptr;
    return make_line(operation->all(), named("a handler that awaits the release of", *operation),
                     threads);
  } catch (...) {  // out of memory
    return nullptr;
  }
}

WaitingLine line_of(const Client& client, const std::string& name, const void* threads) noexcept {
  try {
    return make_line(*ClientCore::of(client)->operations(),
                     "a handler that awaits the owner of mutex [" + name + "]", threads);
  } catch (...) {  // out of memory, or the client cannot be used
    return nullptr;
  }
}

void start_owner(const Client& client, const std::string& name,
                 const Handler<MutexOwner>& handler) {
  try {
    engine::retrieve_owner(
        ClientCore::of(client)->operations()->parts(), name, [handler](engine::OwnerAnswer answer) {
          if (answer.error) {
            handler(Completion<MutexOwner>::failed(std::make_exception_ptr(Error{*answer.error})));
          } else {
            handler({.value = std::move(answer.owner)});
          }
        });
  } catch (...) {
    handler(Completion<MutexOwner>::failed(std::current_exception()));
  }
}

}  // namespace detail

}  // namespace simba
