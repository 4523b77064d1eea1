#pragma once

/// Locks for programs that use standalone Asio, 1.22 or later. There is nothing more to link: this
/// header uses the Asio that your program has.

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/error.hpp>
#include <asio/error_code.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/system_executor.hpp>

#include "simba/client/client.hpp"
#include "simba/client/completion.hpp"
#include "simba/core/executor.hpp"

namespace simba {

namespace detail {

inline asio::error_code asio_code(const std::error_code& code) {
  if (code == std::errc::operation_canceled) return asio::error::operation_aborted;
  return code;
}

/// Passes one completion to a handler, on its executor. It may outlive the handler's context on a
/// thread of Simba: so it is not in the handler's memory, and what it has of the user's is gone
/// when the handler is called.
template <class Handler>
class AsioOperation {
 public:
  using Executor = asio::associated_executor_t<Handler, asio::system_executor>;
  using Allocator = asio::associated_allocator_t<Handler>;

  static std::shared_ptr<AsioOperation> make(Handler handler) {
    return std::make_shared<AsioOperation>(std::move(handler));
  }

  explicit AsioOperation(Handler handler) : parts_{std::in_place, std::move(handler)} {}

  // NOLINTBEGIN(bugprone-unchecked-optional-access): there until the handler is called

  /// Calls `cancel` when the handler's slot says so. Before the operation is started.
  template <class Cancel>
  void cancel_by(Cancel cancel) {
    const auto slot = asio::get_associated_cancellation_slot(parts_->handler);
    if (!slot.is_connected()) return;
    parts_->cancellable = true;
    auto on_signal = [cancel = std::move(cancel)](asio::cancellation_type type) {
      if (type != asio::cancellation_type::none) cancel();
    };
    asio::get_associated_cancellation_slot(parts_->handler).assign(std::move(on_signal));
  }

  /// Never inside the initiating function, nor on a thread of Simba.
  template <class... Results>
  static void complete(const std::shared_ptr<AsioOperation>& self, asio::error_code code,
                       Results... results) {
    const Executor executor = self->parts_->executor;
    asio::post(executor, Call<Results...>{self, code, {std::move(results)...}});
  }

 private:
  struct Parts {
    explicit Parts(Handler given)
        : handler{std::move(given)},
          executor{asio::get_associated_executor(handler, asio::system_executor{})},
          work{executor} {}

    Handler handler;
    Executor executor;
    asio::executor_work_guard<Executor> work;
    bool cancellable = false;
  };

  /// What runs on the executor. It has the allocator of the handler.
  template <class... Results>
  struct Call {
    using allocator_type = Allocator;

    std::shared_ptr<AsioOperation> self;
    asio::error_code code;
    std::tuple<Results...> results;

    allocator_type get_allocator() const noexcept {
      return asio::get_associated_allocator(self->parts_->handler);
    }

    void operator()() {
      Parts parts = std::move(*self->parts_);
      self->parts_.reset();
      self.reset();
      if (parts.cancellable) asio::get_associated_cancellation_slot(parts.handler).clear();
      std::apply([&](auto&... value) { std::move(parts.handler)(code, std::move(value)...); },
                 results);
    }
  };

  // NOLINTEND(bugprone-unchecked-optional-access)

  std::optional<Parts> parts_;
};

template <class Handler>
void asio_lock(Handler handler, const Client& client, std::string name, LockOptions options) {
  const auto operation = AsioOperation<Handler>::make(std::move(handler));
  const PreparedLock prepared =
      prepare_lock(client, LockCall::lock, std::move(name), std::move(options));
  operation->cancel_by([prepared] { prepared.cancel(); });
  prepared.start([operation](Completion<LockResult> completion) {
    AsioOperation<Handler>::complete(operation, asio_code(completion.code),
                                     *std::move(completion.value));
  });
}

template <class Handler>
void asio_try_lock(Handler handler, const Client& client, std::string name, LockOptions options) {
  const auto operation = AsioOperation<Handler>::make(std::move(handler));
  const PreparedLock prepared =
      prepare_lock(client, LockCall::try_lock, std::move(name), std::move(options));
  operation->cancel_by([prepared] { prepared.cancel(); });
  prepared.start([operation](Completion<LockResult> completion) {
    asio::error_code code = asio_code(completion.code);
    if (!code && completion.value.outcome() == LockOutcome::cancelled) {
      code = asio::error::operation_aborted;
    }
    AsioOperation<Handler>::complete(operation, code, std::move(completion.value));
  });
}

template <class Handler>
void asio_unlock(Handler handler, Lock lock) {
  const auto operation = AsioOperation<Handler>::make(std::move(handler));
  start_unlock(std::move(lock), [operation](const Completion<bool>& completion) {
    const bool in_doubt = !completion.code && !completion.value;
    AsioOperation<Handler>::complete(
        operation, in_doubt ? make_error_code(ErrorKind::in_doubt) : completion.code);
  });
}

template <class Handler>
void asio_owner(Handler handler, const Client& client, const std::string& name) {
  const auto operation = AsioOperation<Handler>::make(std::move(handler));
  start_owner(client, name, [operation](Completion<MutexOwner> completion) {
    AsioOperation<Handler>::complete(operation, completion.code, std::move(completion.value));
  });
}

template <class AsioExecutor>
class ExecutorOnAsio final : public Executor {
 public:
  explicit ExecutorOnAsio(AsioExecutor executor) : executor_{std::move(executor)} {}

  void execute(std::function<void()> task) override { asio::post(executor_, std::move(task)); }

  bool running_in_this_thread() const noexcept override {
    if constexpr (requires {
                    { executor_.running_in_this_thread() } -> std::same_as<bool>;
                  }) {
      return executor_.running_in_this_thread();
    } else {
      return false;
    }
  }

 private:
  const AsioExecutor executor_;
};

}  // namespace detail

/// The functions below are initiating functions of Asio. For all of them:
///
/// Threads: the handler runs on its associated executor (without one, on Asio's system executor) by
/// `asio::post`, never inside the initiating function, and holds work of that executor until then.
/// Errors: the codes are those of `error_category()`; `asio::error::operation_aborted` after a
/// cancellation by the associated slot, which completes at once.
/// Lifetime: operations do not keep the client alive: when the last handle is gone, waits for a
/// lock complete with ErrorKind::illegal_state. The executor's context must outlive its operations:
/// close the client and run the context before you destroy it.

/// `void(asio::error_code, Lock)`. As `Client::lock`: ErrorKind::timeout after `options.wait`. A
/// grant under way when it is cancelled is given back.
template <class CompletionToken>
auto async_lock(Client client, std::string name, LockOptions options, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(asio::error_code, Lock)>(
      [](auto handler, Client with, std::string of, LockOptions how) {
        detail::asio_lock(std::move(handler), with, std::move(of), std::move(how));
      },
      token, std::move(client), std::move(name), std::move(options));
}

/// `void(asio::error_code, LockResult)`. As `Client::try_lock`: busy and timed out are not errors.
template <class CompletionToken>
auto async_try_lock(Client client, std::string name, LockOptions options, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(asio::error_code, LockResult)>(
      [](auto handler, Client with, std::string of, LockOptions how) {
        detail::asio_try_lock(std::move(handler), with, std::move(of), std::move(how));
      },
      token, std::move(client), std::move(name), std::move(options));
}

/// `void(asio::error_code)`. No error: the store has confirmed the release. ErrorKind::in_doubt: it
/// had not done so when the lease ended. Cannot be cancelled.
template <class CompletionToken>
auto async_unlock(Lock lock, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(asio::error_code)>(
      [](auto handler, Lock what) { detail::asio_unlock(std::move(handler), std::move(what)); },
      token, std::move(lock));
}

/// `void(asio::error_code, MutexOwner)`. As `Client::owner`. Cannot be cancelled.
template <class CompletionToken>
auto async_owner(Client client, std::string name, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(asio::error_code, MutexOwner)>(
      [](auto handler, Client with, const std::string& of) {
        detail::asio_owner(std::move(handler), with, of);
      },
      token, std::move(client), std::move(name));
}

/// For `ClientOptions::executor`: all callbacks of the client run on `executor`, e.g. that of an
/// `asio::io_context`.
template <class AsioExecutor>
[[nodiscard]] std::shared_ptr<Executor> make_asio_executor(AsioExecutor executor) {
  return std::make_shared<detail::ExecutorOnAsio<AsioExecutor>>(std::move(executor));
}

}  // namespace simba
