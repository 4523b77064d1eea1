#include "simba/memory/memory_store.hpp"

#include <string>
#include <utility>

#include "lease_table.hpp"

namespace simba::memory {

using engine::AnswerHandler;
using engine::LeaseRequest;
using engine::NoticeHandler;
using engine::Watch;

namespace {

/// A nameless contender cannot be told from nobody.
bool refused(const LeaseRequest& request, const AnswerHandler& handler) {
  if (!request.contender_id.empty()) {
    return false;
  }
  handler(Error{ErrorKind::invalid_argument, "contender id must not be empty"});
  return true;
}

class MemoryWatch final : public Watch {
 public:
  MemoryWatch(std::shared_ptr<LeaseTable> table, const std::string& mutex, Subscriber subscriber)
      : table_{std::move(table)},
        subscriber_{std::move(subscriber)},
        slot_{table_->subscribe(mutex, subscriber_)} {}

  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  ~MemoryWatch() override { table_->unsubscribe(slot_, subscriber_); }

 private:
  const std::shared_ptr<LeaseTable> table_;
  const Subscriber subscriber_;
  LeaseTable::Slot& slot_;
};

}  // namespace

MemoryStore::MemoryStore(std::shared_ptr<const Clock> clock)
    : table_{clock ? std::make_shared<LeaseTable>(std::move(clock)) : nullptr} {
  if (!table_) {
    throw InvalidArgumentError{"a memory store needs a clock (got nullptr)"};
  }
}

MemoryStore::~MemoryStore() = default;

NameLimits MemoryStore::name_limits() const noexcept { return {}; }

// Each call holds the table: a handler may let go of the last holder of this store.

void MemoryStore::acquire(const LeaseRequest& request, AnswerHandler handler) {
  if (!refused(request, handler)) {
    const auto table = table_;
    handler(table->acquire(request));
  }
}

void MemoryStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  if (!refused(request, handler)) {
    const auto table = table_;
    handler(table->guard(request));
  }
}

void MemoryStore::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  if (!refused(request, handler)) {
    const auto table = table_;
    handler(table->release(request, token));
  }
}

void MemoryStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  handler(table_->retrieve(request.mutex));
}

std::unique_ptr<Watch> MemoryStore::watch(const LeaseRequest& request, NoticeHandler handler) {
  return std::make_unique<MemoryWatch>(table_, request.mutex,
                                       std::make_shared<Subscription>(request, std::move(handler)));
}

MutexRecords* MemoryStore::records() noexcept { return table_.get(); }

}  // namespace simba::memory
