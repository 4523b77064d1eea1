#include "simba/sql/mutex_owner_repository.hpp"

#include <future>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/checks.hpp"
#include "engine/owner_view.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"
#include "sql/rows.hpp"
#include "sql/workers/statement_pool.hpp"

namespace simba::sql {
namespace {

using std::chrono::milliseconds;

/// Past every timeout of connecting and of a statement; only a name server can take longer.
constexpr milliseconds patience_with_pool = std::chrono::minutes{2};

constexpr milliseconds longest_lease = std::chrono::hours{24};

/// Waits for an answer; the pool gives one to every request.
template <class T, class Send>
T answer_to(const Send& send) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  send([promise](Result<T> result) { promise->set_value(std::move(result)); });
  if (future.wait_for(patience_with_pool) != std::future_status::ready) {
    throw Error{ErrorKind::timeout,
                "no answer from the database; does the name server (DNS) respond?"};
  }
  auto result = future.get();
  if (const auto* error = std::get_if<Error>(&result)) throw Error{*error};
  return std::get<T>(std::move(result));
}

void check_mutex(const std::string& mutex) { check_name("mutex name", mutex, NameLimits{}.mutex); }

Ask ask_for(const std::string& mutex, const std::string& contender_id, milliseconds ttl,
            milliseconds transition) {
  check_mutex(mutex);
  check_name("contender id", contender_id, NameLimits{}.contender_id);
  detail::in_bounds("ttl", ttl, milliseconds{1}, longest_lease);
  detail::in_bounds("transition", transition, milliseconds::zero(), longest_lease);
  return {.mutex = mutex, .contender_id = contender_id, .ttl = ttl, .transition = transition};
}

MutexOwner owner_of(const Row& row, LocalTime asked_at, const std::shared_ptr<const Clock>& clock) {
  const auto record = record_of(row);
  if (record.owner_id.empty()) return MutexOwner::none();
  return engine::to_owner(engine::view_of(record, asked_at), clock);
}

}  // namespace

MutexOwnerRepository::MutexOwnerRepository(std::shared_ptr<StatementPool> pool,
                                           std::shared_ptr<const Clock> clock)
    : pool_{std::move(pool)}, clock_{std::move(clock)} {}

MutexOwnerRepository::~MutexOwnerRepository() { pool_->close(); }

void MutexOwnerRepository::init_mutex(const std::string& mutex) {
  if (!try_init_mutex(mutex)) {
    throw IllegalStateError{fmt::format("mutex \"{}\" already has a row", mutex)};
  }
}

bool MutexOwnerRepository::try_init_mutex(const std::string& mutex) {
  check_mutex(mutex);
  return answer_to<bool>([&](auto handler) { pool_->init(mutex, std::move(handler)); });
}

MutexOwner MutexOwnerRepository::get_owner(const std::string& mutex) {
  check_mutex(mutex);
  const LocalTime asked_at = clock_->now();
  const auto row = answer_to<std::optional<Row>>(
      [&](auto handler) { pool_->look(mutex, {}, std::move(handler)); });
  if (!row) throw IllegalStateError{fmt::format("mutex \"{}\" has no row", mutex)};
  return owner_of(*row, asked_at, clock_);
}

MutexOwner MutexOwnerRepository::ensure_owner(const std::string& mutex) {
  try_init_mutex(mutex);
  return get_owner(mutex);
}

bool MutexOwnerRepository::acquire(const std::string& mutex, const std::string& contender_id,
                                   milliseconds ttl, milliseconds transition) {
  return acquire_and_get_owner(mutex, contender_id, ttl, transition).is_owner(contender_id);
}

MutexOwner MutexOwnerRepository::acquire_and_get_owner(const std::string& mutex,
                                                       const std::string& contender_id,
                                                       milliseconds ttl, milliseconds transition) {
  const Ask ask = ask_for(mutex, contender_id, ttl, transition);
  const LocalTime asked_at = clock_->now();
  const auto row = answer_to<std::optional<Row>>(
      [&](auto handler) { pool_->change(Change::acquire, ask, std::move(handler)); });
  return row ? owner_of(*row, asked_at, clock_) : MutexOwner::none();
}

// By version, so that the answer tells whether it was this call that freed it. A renewal in between
// raises the version; then it is tried again.
bool MutexOwnerRepository::release(const std::string& mutex, const std::string& contender_id) {
  Ask ask = ask_for(mutex, contender_id, milliseconds{1}, milliseconds{0});
  auto row = answer_to<std::optional<Row>>(
      [&](auto handler) { pool_->look(mutex, {}, std::move(handler)); });
  constexpr int most_tries = 10;
  for (int tries = 0; row && row->owner_id == contender_id && tries < most_tries; ++tries) {
    ask.version = row->version;
    row = answer_to<std::optional<Row>>(
        [&](auto handler) { pool_->change(Change::release, ask, std::move(handler)); });
    if (row && row->owner_id.empty() && row->version == *ask.version + 1) return true;
  }
  return false;
}

}  // namespace simba::sql
