// The functions of simba/asio.hpp and simba/boost_asio.hpp, which include this file inside their
// namespaces. `asio` is the one library or the other here, `detail::AsioErrorCode` its type of
// codes, and `detail::call_immediately` calls on a handler's immediate executor, or posts where
// there is none.

namespace detail {

inline AsioErrorCode asio_code(const std::error_code& code) {
  if (code == std::errc::operation_canceled) return asio::error::operation_aborted;
  return code;
}

/// Holds work of an executor while it exists. (The guard takes a strand of any executor for what it
/// is not.)
template <class Executor>
auto work_of(const Executor& executor) {
  if constexpr (asio::execution::is_executor<Executor>::value) {
    return asio::prefer(executor, asio::execution::outstanding_work.tracked);
  } else {
    return asio::executor_work_guard<Executor>{executor};
  }
}

/// The context of an executor; null where the executor does not tell.
template <class Executor>
asio::execution_context* context_of(const Executor& executor) {
  constexpr asio::execution::context_as_t<asio::execution_context&> context;
  if constexpr (asio::can_query<const Executor&, decltype(context)>::value) {
    return &asio::query(executor, context);
  } else {
    return nullptr;
  }
}

/// `asio::post`, from a thread that the context knows nothing of: whoever runs the context may
/// destroy it after the last call. So the context does not run out of work before everything here
/// is gone; a copy of a strand uses its context even in its destructor. `executor` may end with
/// the call.
template <class Executor, class Call>
void post_from_outside(const Executor& executor, Call call) {
  [[maybe_unused]] const auto work = work_of(executor);  // destroyed last
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): see above
  const Executor copy = executor;
  asio::post(copy, std::move(call));
}

/// Passes one completion to a handler, on its executor. It may outlive the handler's context on a
/// thread of Simba: so it is not in the handler's memory, and what it has of the user's is gone
/// when the handler is called.
template <class Handler, class... Results>
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

  /// What notices a handler that is not called. Before the operation is started.
  void wait_in(simba::detail::WaitingLine line) {
    if (!line.delays) return;
    line_.emplace(line.delays, std::move(line.who), context_of(parts_->executor),
                  "its executor is busy or has stopped");
  }

  /// Once, on any thread, perhaps before the operation is initiated.
  static void complete(const std::shared_ptr<AsioOperation>& self, AsioErrorCode code,
                       Results... results) {
    self->outcome_ = Outcome{code, std::move(results)...};
    if (!self->one_of_two_.test_and_set()) return;  // not inside the initiating function
    post_from_outside(self->parts_->executor, call_of(self));
  }

  /// The last that an initiating function does.
  static void initiated(const std::shared_ptr<AsioOperation>& self) {
    if (!self->one_of_two_.test_and_set()) return;
    const Executor executor = self->parts_->executor;
    call_immediately(self->parts_->handler, executor, call_of(self));
  }

 private:
  using Outcome = std::tuple<AsioErrorCode, Results...>;

  struct Parts {
    explicit Parts(Handler given)
        : handler{std::move(given)},
          executor{asio::get_associated_executor(handler, asio::system_executor{})},
          work{work_of(executor)} {}

    Handler handler;
    Executor executor;
    decltype(work_of(std::declval<Executor>())) work;
    bool cancellable = false;
  };

  /// What runs on the executor. It has the allocator of the handler.
  struct Call {
    using allocator_type = Allocator;

    std::shared_ptr<AsioOperation> self;
    Outcome outcome;

    allocator_type get_allocator() const noexcept {
      return asio::get_associated_allocator(self->parts_->handler);
    }

    void operator()() {
      Parts parts = std::move(*self->parts_);
      self->parts_.reset();
      if (parts.cancellable) asio::get_associated_cancellation_slot(parts.handler).clear();
      const auto running = std::move(self);  // until the handler has returned or thrown
      if (running->line_) running->line_->begins();
      std::apply(std::move(parts.handler), std::move(outcome));
    }
  };

  static Call call_of(const std::shared_ptr<AsioOperation>& self) {
    if (self->line_) self->line_->waits();
    return {self, std::move(self->outcome_)};
  }

  // NOLINTEND(bugprone-unchecked-optional-access)

  std::optional<Parts> parts_;
  Outcome outcome_;
  std::optional<DelayMonitor::Line> line_;
  std::atomic_flag one_of_two_;  ///< initiated or completed: whichever is second calls
};

template <class Handler>
void asio_lock(Handler handler, const Client& client, std::string name, LockOptions options) {
  using Operation = AsioOperation<Handler, Lock>;
  const auto operation = Operation::make(std::move(handler));
  const auto prepared = simba::detail::prepare_lock(client, simba::detail::LockCall::lock,
                                                    std::move(name), std::move(options));
  operation->cancel_by([prepared] { prepared.cancel(); });
  operation->wait_in(prepared.line());
  prepared.start([operation](simba::detail::Completion<LockResult> completion) {
    Operation::complete(operation, asio_code(completion.code), *std::move(completion.value));
  });
  Operation::initiated(operation);
}

template <class Handler>
void asio_try_lock(Handler handler, const Client& client, std::string name, LockOptions options) {
  using Operation = AsioOperation<Handler, LockResult>;
  const auto operation = Operation::make(std::move(handler));
  const auto prepared = simba::detail::prepare_lock(client, simba::detail::LockCall::try_lock,
                                                    std::move(name), std::move(options));
  operation->cancel_by([prepared] { prepared.cancel(); });
  operation->wait_in(prepared.line());
  prepared.start([operation](simba::detail::Completion<LockResult> completion) {
    AsioErrorCode code = asio_code(completion.code);
    if (!code && completion.value.outcome() == LockOutcome::cancelled) {
      code = asio::error::operation_aborted;
    }
    Operation::complete(operation, code, std::move(completion.value));
  });
  Operation::initiated(operation);
}

template <class Handler>
void asio_unlock(Handler handler, Lock lock) {
  using Operation = AsioOperation<Handler>;
  const auto operation = Operation::make(std::move(handler));
  operation->wait_in(simba::detail::line_of(lock));
  simba::detail::start_unlock(std::move(lock), [operation](bool confirmed) {
    Operation::complete(operation,
                        confirmed ? std::error_code{} : make_error_code(ErrorKind::in_doubt));
  });
  Operation::initiated(operation);
}

template <class Handler>
void asio_owner(Handler handler, const Client& client, const std::string& name) {
  using Operation = AsioOperation<Handler, MutexOwner>;
  const auto operation = Operation::make(std::move(handler));
  operation->wait_in(simba::detail::line_of(client, name));
  simba::detail::start_owner(
      client, name, [operation](simba::detail::Completion<MutexOwner> completion) {
        Operation::complete(operation, completion.code, std::move(completion.value));
      });
  Operation::initiated(operation);
}

/// An executor that is dropped when its context is destroyed: threads of Simba may hold what is
/// built on it for longer, and a strand uses its context even in its destructor.
template <class AsioExecutor>
class BorrowedExecutor {
 public:
  explicit BorrowedExecutor(AsioExecutor executor) : executor_{std::move(executor)} {}

  void let_go() {
    const std::lock_guard lock{mutex_};
    executor_.reset();
  }

  void post(std::function<void()> task) {
    // Held to the end: the context lives until let_go() has had it.
    const std::lock_guard lock{mutex_};
    if (!executor_) throw IllegalStateError{"the context of this executor has been destroyed"};
    [[maybe_unused]] const auto work = work_of(*executor_);  // destroyed last
    asio::post(*executor_, std::move(task));
  }

  bool running_in_this_thread() const noexcept {
    if constexpr (requires(const AsioExecutor executor) {
                    { executor.running_in_this_thread() } -> std::same_as<bool>;
                  }) {
      const std::lock_guard lock{mutex_};
      return executor_ && executor_->running_in_this_thread();
    } else {
      return false;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::optional<AsioExecutor> executor_;  // guarded by mutex_
};

/// The executors that have to be dropped before their context is destroyed.
class BorrowedFromContext final : public asio::execution_context::service {
 public:
  inline static asio::execution_context::id id;

  explicit BorrowedFromContext(asio::execution_context& context) : service{context} {}

  template <class AsioExecutor>
  void add(const std::shared_ptr<BorrowedExecutor<AsioExecutor>>& borrowed) {
    const std::lock_guard lock{mutex_};
    std::erase_if(let_go_, [](const auto& entry) { return entry.first.expired(); });
    let_go_.emplace_back(borrowed, [weak = std::weak_ptr{borrowed}] {
      if (const auto executor = weak.lock()) executor->let_go();
    });
  }

 private:
  void shutdown() noexcept override {
    const std::lock_guard lock{mutex_};
    for (const auto& entry : let_go_) entry.second();
  }

  std::mutex mutex_;
  // guarded by mutex_
  std::vector<std::pair<std::weak_ptr<void>, std::function<void()>>> let_go_;
};

template <class AsioExecutor>
class ExecutorOnAsio final : public Executor {
 public:
  explicit ExecutorOnAsio(const AsioExecutor& executor)
      : borrowed_{std::make_shared<BorrowedExecutor<AsioExecutor>>(executor)} {
    if (auto* const context = context_of(executor)) {
      asio::use_service<BorrowedFromContext>(*context).add(borrowed_);
    }
  }

  void execute(std::function<void()> task) override { borrowed_->post(std::move(task)); }

  bool running_in_this_thread() const noexcept override {
    return borrowed_->running_in_this_thread();
  }

 private:
  const std::shared_ptr<BorrowedExecutor<AsioExecutor>> borrowed_;
};

}  // namespace detail

/// The functions below are initiating functions of Asio. For all of them:
///
/// Threads: the handler runs on its associated executor (without one, on Asio's system executor) by
/// `asio::post`, and holds work of that executor until then. It never runs inside the initiating
/// function, unless it has an immediate executor (Asio 1.28, Boost 1.82) that calls it there. The
/// executor, and the allocator of the handler, may be entered on the thread of Simba's timers or of
/// the store, where they must not block; those of Asio do not.
/// What the executor has not called after a second is logged and counted (`Runtime::delays`).
/// Errors: `error_code` is `asio::error_code` or `boost::system::error_code`. The codes are those
/// of `error_category()`; `asio::error::operation_aborted` after a cancellation by the associated
/// slot, which completes at once.
/// Lifetime: operations do not keep the client alive: when the last handle is gone, waits for a
/// lock complete with ErrorKind::illegal_state. The executor's context must outlive its operations:
/// close the client and run the context before you destroy it.

/// `void(error_code, Lock)`. As `Client::lock`: ErrorKind::timeout after `options.wait`. A
/// grant under way when it is cancelled is given back.
template <class CompletionToken>
auto async_lock(Client client, std::string name, LockOptions options, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(detail::AsioErrorCode, Lock)>(
      [](auto handler, Client with, std::string of, LockOptions how) {
        detail::asio_lock(std::move(handler), with, std::move(of), std::move(how));
      },
      token, std::move(client), std::move(name), std::move(options));
}

/// `void(error_code, LockResult)`. As `Client::try_lock`: busy and timed out are not errors.
template <class CompletionToken>
auto async_try_lock(Client client, std::string name, LockOptions options, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(detail::AsioErrorCode, LockResult)>(
      [](auto handler, Client with, std::string of, LockOptions how) {
        detail::asio_try_lock(std::move(handler), with, std::move(of), std::move(how));
      },
      token, std::move(client), std::move(name), std::move(options));
}

/// `void(error_code)`. No error: the store has confirmed the release. ErrorKind::in_doubt: it
/// had not done so when the lease ended. Cannot be cancelled.
template <class CompletionToken>
auto async_unlock(Lock lock, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(detail::AsioErrorCode)>(
      [](auto handler, Lock what) { detail::asio_unlock(std::move(handler), std::move(what)); },
      token, std::move(lock));
}

/// `void(error_code, MutexOwner)`. As `Client::owner`. Cannot be cancelled.
template <class CompletionToken>
auto async_owner(Client client, std::string name, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(detail::AsioErrorCode, MutexOwner)>(
      [](auto handler, Client with, const std::string& of) {
        detail::asio_owner(std::move(handler), with, of);
      },
      token, std::move(client), std::move(name));
}

/// For `ClientOptions::executor`: all callbacks of the client run on `executor`, e.g. that of an
/// `asio::io_context`, or a strand of it. Before you destroy the context, close the client, stop
/// what it has started, and run the context until it has no work left. Callbacks that come later
/// run on the callback threads, with a line in the log. (An executor that does not answer the query
/// `execution::context` must itself remain usable until the runtime has ended.)
template <class AsioExecutor>
[[nodiscard]] std::shared_ptr<Executor> make_asio_executor(AsioExecutor executor) {
  return std::make_shared<detail::ExecutorOnAsio<AsioExecutor>>(executor);
}
