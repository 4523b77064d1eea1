#include "engine/lease_retrieval_service.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "engine/mailbox.hpp"
#include "engine/request_count.hpp"
#include "engine/retrieval_machine.hpp"

namespace simba::engine {

/// Performs the actions of a `RetrievalMachine` over a `LeaseStore`; threads as `LeaseContention`.
class LeaseRetrieval : public std::enable_shared_from_this<LeaseRetrieval> {
 public:
  LeaseRetrieval(const std::string& mutex, std::shared_ptr<OwnerDispatcher> dispatcher,
                 std::shared_ptr<LeaseStore> store, std::shared_ptr<const Runtime> runtime,
                 std::shared_ptr<const ContentionPlan> plan)
      : dispatcher_{std::move(dispatcher)},
        store_{std::move(store)},
        runtime_{std::move(runtime)},
        machine_{std::move(plan), runtime_->random} {
    request_.mutex = mutex;
  }

  void start() {
    if (!timer_) {  // without one it would never look again: then it does not begin
      timer_ = runtime_->timers->create([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->post(Tick{});
      });
    }
    post(Start{});
  }

  void post(RetrievalEvent event) {
    if (mailbox_.post(std::move(event), *this)) dispatcher_->deliver();
  }

  void stop(LocalTime deadline) {
    mailbox_.post_and_wait(Stop{}, *this, *runtime_->waiter, deadline);
    dispatcher_->deliver();
  }

 private:
  friend class Mailbox<RetrievalEvent>;

  void handle(const RetrievalEvent& event) {
    try {
      if (const auto* looked = std::get_if<Looked>(&event)) count(*looked);
      if (std::holds_alternative<Start>(event)) begin_watch();
      if (std::holds_alternative<Stop>(event)) watch_.reset();
      perform(machine_.step(event, runtime_->clock->now()));
    } catch (const std::exception& e) {
      log(LogLevel::error, std::string{"internal error: "} + e.what());
    }
  }

  void rest() {
    try {
      timer_->arm(machine_.wake_at());
    } catch (const std::exception& e) {
      log(LogLevel::error, std::string{"internal error: "} + e.what());
    }
  }

  void count(const Looked& looked) const {
    engine::count(runtime_->statistics.get(), *runtime_->clock, RequestKind::look,
                  looked.look.sent_at, looked.answer.error());
  }

  void begin_watch() {
    try {
      watch_ = store_->watch(request_, [weak = weak_from_this()](const Notice& notice) {
        if (const auto self = weak.lock()) self->post(Noticed{.notice = notice});
      });
    } catch (const std::exception& e) {  // only a hint: without it a change is seen later
      log(LogLevel::warn, std::string{"cannot watch the mutex: "} + e.what());
    }
  }

  void perform(RetrievalActions actions) {
    if (actions.observed) publish(to_owner(std::move(*actions.observed), runtime_->clock));
    if (actions.failed) {
      log(failing_ == actions.failed->kind() ? LogLevel::debug : LogLevel::warn,
          std::string{"cannot determine the owner, retrying: "} + actions.failed->what());
      failing_ = actions.failed->kind();
    }
    if (actions.look) look(*actions.look);
  }

  void look(const Look& look) {
    AnswerHandler handler = [self = shared_from_this(), look](LeaseAnswer answer) {
      self->post(Looked{.look = look, .answer = std::move(answer)});
    };
    try {
      store_->retrieve(request_, handler);
    } catch (const std::exception& e) {
      handler(Error{ErrorKind::internal, std::string{"the store threw: "} + e.what()});
    }
  }

  void publish(MutexOwner owner) {
    if (failing_) log(LogLevel::info, "the store answers again");
    failing_.reset();
    dispatcher_->update(std::move(owner));
  }

  void log(LogLevel level, const std::string& message) {
    runtime_->log->log(level, "mutex [" + request_.mutex + "], observer: " + message);
  }

  // constant after construction
  LeaseRequest request_;
  const std::shared_ptr<OwnerDispatcher> dispatcher_;
  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<const Runtime> runtime_;

  Mailbox<RetrievalEvent> mailbox_;
  // touched by the handler of mailbox_ only
  RetrievalMachine machine_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> timer_;      // made before the first event
  std::optional<ErrorKind> failing_;  // logged already
};

LeaseRetrievalService::LeaseRetrievalService(MutexRetriever& retriever,
                                             const RetrievalServiceOptions& options,
                                             std::shared_ptr<LeaseStore> store,
                                             std::shared_ptr<void> attachment,
                                             std::shared_ptr<const Runtime> runtime,
                                             std::shared_ptr<const ContentionPlan> plan)
    : AbstractMutexRetrievalService{retriever, options.executor, runtime, plan->drain_limit},
      attachment_{std::move(attachment)},
      retrieval_{std::make_shared<LeaseRetrieval>(retriever.mutex(), dispatcher(), std::move(store),
                                                  runtime, plan)} {}

LeaseRetrievalService::~LeaseRetrievalService() {
  close();
  if (in_forked_child()) detail::leak(retrieval_);
}

void LeaseRetrievalService::start_retrieval() { retrieval_->start(); }

void LeaseRetrievalService::stop_retrieval() {
  retrieval_->stop(runtime()->clock->now() + drain_limit());
}

}  // namespace simba::engine
