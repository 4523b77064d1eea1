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

struct FaultStore::Call {
  Operation operation;
  LeaseRequest request;
  FencingToken token;
  AnswerHandler handler;
};

/// The faults, and the requests and answers that wait. It holds no store.
class FaultStore::Line {
 public:
  struct HeldAnswer {
    AnswerHandler handler;
    LeaseAnswer answer;
  };

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

  /// The store behind has answered a request that met `own`, or no fault.
  void answered(const AnswerHandler& handler, LeaseAnswer answer, const std::optional<Fault>& own) {
    {
      const std::lock_guard lock{mutex};
      const std::optional<Fault>& fault = own || closed ? own : every;
      if (fault) {
        switch (fault->kind()) {
          case Fault::Kind::hold_answer:
          case Fault::Kind::hold_request:
            if (!closed) {
              answers.push_back({handler, std::move(answer)});
              return;
            }
            break;
          case Fault::Kind::swallow:
            swallowed.push_back(handler);
            return;
          case Fault::Kind::lose_answer:
            answer = fault->error();
            break;
          case Fault::Kind::fail:
            answer = in_doubt();
            break;
        }
      }
    }
    handler(std::move(answer));
  }

  mutable std::mutex mutex;
  // guarded by mutex
  std::array<std::deque<Fault>, 5> scripted;
  std::optional<Fault> every;
  bool closed = false;
  std::deque<Call> requests;
  std::deque<HeldAnswer> answers;
  std::deque<AnswerHandler> swallowed;
  std::array<std::size_t, 5> counts{};
};

FaultStore::FaultStore(std::shared_ptr<engine::LeaseStore> store)
    : store_{std::move(store)},
      line_{std::make_shared<Line>()},
      notices_{std::make_shared<FaultNotices>()} {
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
  std::deque<AnswerHandler> swallowed;
  {
    const std::lock_guard lock{line_->mutex};
    line_->every.reset();
    line_->scripted = {};
    swallowed.swap(line_->swallowed);
  }
  release_answers();
  for (const auto& handler : swallowed) {
    handler(in_doubt());
  }
  notices_->pass();
  notices_->make_missing(*store_);
  release_requests();
}

void FaultStore::close() {
  std::deque<Call> requests;
  std::deque<Line::HeldAnswer> answers;
  std::deque<AnswerHandler> swallowed;
  {
    const std::lock_guard lock{line_->mutex};
    line_->closed = true;
    requests.swap(line_->requests);
    answers.swap(line_->answers);
    swallowed.swap(line_->swallowed);
  }
  notices_->close();
  for (const auto& call : requests) {
    call.handler(in_doubt());
  }
  for (const auto& held : answers) {
    held.handler(in_doubt());
  }
  for (const auto& handler : swallowed) {
    handler(in_doubt());
  }
}

std::size_t FaultStore::release_answers(Order order, std::size_t at_most) {
  std::vector<Line::HeldAnswer> answers;
  {
    const std::lock_guard lock{line_->mutex};
    answers = take(line_->answers, order, at_most);
  }
  for (auto& held : answers) {
    held.handler(std::move(held.answer));
  }
  return answers.size();
}

std::size_t FaultStore::release_requests(Order order, std::size_t at_most) {
  std::vector<Call> requests;
  {
    const std::lock_guard lock{line_->mutex};
    requests = take(line_->requests, order, at_most);
  }
  for (auto& call : requests) {
    carry_out(std::move(call));
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
  receive({Operation::acquire, request, 0, std::move(handler)});
}

void FaultStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  receive({Operation::guard, request, 0, std::move(handler)});
}

void FaultStore::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  receive({Operation::release, request, token, std::move(handler)});
}

void FaultStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  receive({Operation::retrieve, request, 0, std::move(handler)});
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

void FaultStore::receive(Call call) {
  std::optional<Fault> fault;
  {
    const std::lock_guard lock{line_->mutex};
    fault = line_->take_fault(call.operation);
    if (fault && fault->kind() == Fault::Kind::hold_request) {
      line_->requests.push_back(std::move(call));
      return;
    }
    if (fault && fault->kind() == Fault::Kind::swallow) {
      line_->swallowed.push_back(std::move(call.handler));
      return;
    }
  }
  if (fault && fault->kind() == Fault::Kind::fail) {
    call.handler(fault->error());
    return;
  }
  call.handler = [line = line_, handler = std::move(call.handler), fault](LeaseAnswer answer) {
    line->answered(handler, std::move(answer), fault);
  };
  carry_out(std::move(call));
}

void FaultStore::carry_out(Call call) {
  switch (call.operation) {
    case Operation::acquire:
      store_->acquire(call.request, std::move(call.handler));
      break;
    case Operation::guard:
      store_->guard(call.request, std::move(call.handler));
      break;
    case Operation::release:
      store_->release(call.request, call.token, std::move(call.handler));
      break;
    case Operation::retrieve:
      store_->retrieve(call.request, std::move(call.handler));
      break;
    case Operation::watch:
      break;  // no request: `FaultNotices` makes it
  }
}

}  // namespace simba::testkit
