#include "simba/testkit/fault_store.hpp"

#include <array>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "testkit/fault_notices.hpp"

namespace simba::testkit {

using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRequest;
using engine::Notice;
using engine::NoticeHandler;
using engine::Watch;

namespace {

constexpr std::size_t operations = static_cast<std::size_t>(Operation::write_record) + 1;

Error in_doubt() { return Fault::lose_answer().error(); }

template <typename T>
std::vector<T> take(std::deque<T>& held, FaultStore::Order order, std::size_t at_most) {
  std::vector<T> taken;
  while (!held.empty() && taken.size() < at_most) {
    if (order == FaultStore::Order::oldest_first) {
      taken.push_back(std::move(held.front()));
      held.pop_front();
    } else {
      taken.push_back(std::move(held.back()));
      held.pop_back();
    }
  }
  return taken;
}

}  // namespace

/// The faults, and the requests and answers that wait. It holds no store.
class FaultStore::Line : public std::enable_shared_from_this<Line> {
 public:
  using Refuse = std::function<void(const Error&)>;

  /// A request, or the answer to one, that waits.
  struct Held {
    std::function<void()> go_on;
    Refuse refuse;
  };

  /// A request of kind `operation`. `ask` passes it to the store behind.
  template <typename Answer>
  void receive(Operation operation, const std::function<void(Answer)>& handler,
               const std::function<void(std::function<void(Answer)>)>& ask) {
    const Refuse refuse = [handler](const Error& error) { handler(error); };
    std::optional<Fault> fault;
    {
      const std::lock_guard lock{mutex};
      fault = take_fault(operation);
      if (fault && fault->kind() == Fault::Kind::hold_request) {
        requests.push_back({[ask, handler] { ask(handler); }, refuse});
        return;
      }
      if (fault && fault->kind() == Fault::Kind::swallow) {
        swallowed.push_back(refuse);
        return;
      }
    }
    if (fault && fault->kind() == Fault::Kind::fail) {
      refuse(fault->error());
      return;
    }
    ask([line = this->shared_from_this(), handler, refuse, fault](Answer answer) {
      line->answered({[handler, answer = std::move(answer)] { handler(answer); }, refuse}, fault);
    });
  }

  /// Counts a request and tells the fault that it meets. With `mutex` held.
  std::optional<Fault> take_fault(Operation operation) {
    ++counts[static_cast<std::size_t>(operation)];
    if (closed) {
      return Fault::fail();
    }
    auto& faults = scripted[static_cast<std::size_t>(operation)];
    if (faults.empty()) {
      return every;
    }
    Fault fault = std::move(faults.front());
    faults.pop_front();
    return fault;
  }

  mutable std::mutex mutex;
  // guarded by mutex
  std::array<std::deque<Fault>, operations> scripted;
  std::optional<Fault> every;
  bool closed = false;
  std::deque<Held> requests;
  std::deque<Held> answers;
  std::deque<Refuse> swallowed;
  std::array<std::size_t, operations> counts{};

 private:
  /// The store behind has answered a request that met `own`, or no fault.
  void answered(Held answer, const std::optional<Fault>& own) {
    std::optional<Error> error;
    {
      const std::lock_guard lock{mutex};
      const std::optional<Fault>& fault = own || closed ? own : every;
      if (fault) {
        switch (fault->kind()) {
          case Fault::Kind::hold_answer:
          case Fault::Kind::hold_request:
            if (!closed) {
              answers.push_back(std::move(answer));
              return;
            }
            break;
          case Fault::Kind::swallow:
            swallowed.push_back(std::move(answer.refuse));
            return;
          case Fault::Kind::lose_answer:
            error = fault->error();
            break;
          case Fault::Kind::fail:
            error = in_doubt();
            break;
        }
      }
    }
    if (error) {
      answer.refuse(*error);
    } else {
      answer.go_on();
    }
  }
};

/// The records of the store behind, with the same faults.
class FaultStore::Records final : public MutexRecords {
 public:
  Records(std::shared_ptr<engine::LeaseStore> store, std::shared_ptr<Line> line)
      : store_{std::move(store)}, line_{std::move(line)} {}

  void read(const std::string& mutex, RecordHandler handler) override {
    line_->receive<RecordResult>(Operation::read_record, handler,
                                 [store = store_.get(), mutex](RecordHandler next) {
                                   store->records()->read(mutex, std::move(next));
                                 });
  }

  void write(const RecordWrite& write, RecordHandler handler) override {
    line_->receive<RecordResult>(Operation::write_record, handler,
                                 [store = store_.get(), write](RecordHandler next) {
                                   store->records()->write(write, std::move(next));
                                 });
  }

 private:
  const std::shared_ptr<engine::LeaseStore> store_;
  const std::shared_ptr<Line> line_;
};

FaultStore::FaultStore(std::shared_ptr<engine::LeaseStore> store)
    : store_{std::move(store)},
      line_{std::make_shared<Line>()},
      notices_{std::make_shared<FaultNotices>()},
      records_{std::make_unique<Records>(store_, line_)} {
  if (!store_) {
    throw InvalidArgumentError{"a fault store needs a store to wrap (got nullptr)"};
  }
}

FaultStore::~FaultStore() { close(); }

void FaultStore::next(Operation operation, const Fault& fault, std::size_t times) {
  const std::lock_guard lock{line_->mutex};
  auto& faults = line_->scripted[static_cast<std::size_t>(operation)];
  faults.insert(faults.end(), times, fault);
}

void FaultStore::every(const Fault& fault) {
  const std::lock_guard lock{line_->mutex};
  line_->every = fault;
}

void FaultStore::cut() {
  drop_notices();
  every(Fault::fail());
}

void FaultStore::black_hole() {
  drop_notices();
  every(Fault::swallow());
}

void FaultStore::freeze() {
  hold_notices();
  every(Fault::hold_request());
}

void FaultStore::mend() {
  std::deque<Line::Refuse> swallowed;
  {
    const std::lock_guard lock{line_->mutex};
    line_->every.reset();
    line_->scripted = {};
    swallowed.swap(line_->swallowed);
  }
  release_answers();
  for (const auto& refuse : swallowed) {
    refuse(in_doubt());
  }
  notices_->pass();
  notices_->make_missing(*store_);
  release_requests();
}

void FaultStore::close() {
  std::deque<Line::Held> requests;
  std::deque<Line::Held> answers;
  std::deque<Line::Refuse> swallowed;
  {
    const std::lock_guard lock{line_->mutex};
    line_->closed = true;
    requests.swap(line_->requests);
    answers.swap(line_->answers);
    swallowed.swap(line_->swallowed);
  }
  notices_->close();
  for (const auto& held : requests) {
    held.refuse(in_doubt());
  }
  for (const auto& held : answers) {
    held.refuse(in_doubt());
  }
  for (const auto& refuse : swallowed) {
    refuse(in_doubt());
  }
}

std::size_t FaultStore::release_answers(Order order, std::size_t at_most) {
  std::vector<Line::Held> answers;
  {
    const std::lock_guard lock{line_->mutex};
    answers = take(line_->answers, order, at_most);
  }
  for (const auto& held : answers) {
    held.go_on();
  }
  return answers.size();
}

std::size_t FaultStore::release_requests(Order order, std::size_t at_most) {
  std::vector<Line::Held> requests;
  {
    const std::lock_guard lock{line_->mutex};
    requests = take(line_->requests, order, at_most);
  }
  for (const auto& held : requests) {
    held.go_on();
  }
  return requests.size();
}

std::size_t FaultStore::held_answers() const {
  const std::lock_guard lock{line_->mutex};
  return line_->answers.size();
}

std::size_t FaultStore::held_requests() const {
  const std::lock_guard lock{line_->mutex};
  return line_->requests.size();
}

void FaultStore::drop_notices() { notices_->set(FaultNotices::Mode::drop); }
void FaultStore::hold_notices() { notices_->set(FaultNotices::Mode::hold); }
void FaultStore::pass_notices() { notices_->pass(); }

void FaultStore::notify(const std::string& mutex, const Notice& notice) {
  notices_->notify(mutex, notice);
}

std::size_t FaultStore::count(Operation operation) const {
  const std::lock_guard lock{line_->mutex};
  return line_->counts[static_cast<std::size_t>(operation)];
}

std::size_t FaultStore::notices() const { return notices_->count(); }

NameLimits FaultStore::name_limits() const noexcept { return store_->name_limits(); }

engine::OwnerWatch FaultStore::owner_watch() const noexcept { return store_->owner_watch(); }

void FaultStore::check_names(std::string_view mutex, std::string_view contender_id) const {
  store_->check_names(mutex, contender_id);
}

std::shared_ptr<void> FaultStore::attach() { return store_->attach(); }

void FaultStore::acquire(const LeaseRequest& request, AnswerHandler handler) {
  line_->receive<LeaseAnswer>(Operation::acquire, handler, [this, request](AnswerHandler next) {
    store_->acquire(request, std::move(next));
  });
}

void FaultStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  line_->receive<LeaseAnswer>(Operation::guard, handler, [this, request](AnswerHandler next) {
    store_->guard(request, std::move(next));
  });
}

void FaultStore::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  line_->receive<LeaseAnswer>(Operation::release, handler,
                              [this, request, token](AnswerHandler next) {
                                store_->release(request, token, std::move(next));
                              });
}

void FaultStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  line_->receive<LeaseAnswer>(Operation::retrieve, handler, [this, request](AnswerHandler next) {
    store_->retrieve(request, std::move(next));
  });
}

std::unique_ptr<Watch> FaultStore::watch(const LeaseRequest& request, NoticeHandler handler) {
  bool reaches = false;
  {
    const std::lock_guard lock{line_->mutex};
    reaches = !line_->take_fault(Operation::watch);
  }
  const auto subscription = notices_->add(request, std::move(handler));
  auto watch = notices_->watch_of(subscription);
  if (reaches) {
    notices_->make(subscription, *store_);
  }
  return watch;
}

MutexRecords* FaultStore::records() noexcept {
  return store_->records() == nullptr ? nullptr : records_.get();
}

}  // namespace simba::testkit
