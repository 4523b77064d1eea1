#include "engine/checked_records.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "engine/request_count.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"

namespace simba::engine {
namespace {

void check_text(std::string_view text) {
  if (text.size() > MutexRecords::most_bytes) {
    throw InvalidArgumentError{fmt::format("a record must not be larger than {} bytes (got {})",
                                           MutexRecords::most_bytes, text.size())};
  }
  for (std::string_view rest = text; !rest.empty();) {
    const auto c = detail::first_code_point(rest);
    if (!c || c->value == 0) {
      throw InvalidArgumentError{
          fmt::format("a record must be valid UTF-8 without NUL (it is not at byte {})",
                      text.size() - rest.size())};
    }
    rest.remove_prefix(c->size);
  }
}

}  // namespace

CheckedRecords::CheckedRecords(std::shared_ptr<LeaseStore> store,
                               std::shared_ptr<Attachment> attachment,
                               const std::shared_ptr<const Runtime>& runtime)
    : store_{std::move(store)},
      attachment_{std::move(attachment)},
      clock_{runtime->clock},
      statistics_{runtime->statistics} {}

void CheckedRecords::read(const std::string& mutex, RecordHandler handler) {
  try {
    check(mutex);
  } catch (const Error& error) {
    handler(error);
    return;
  }
  attachment_->record_reads().send(
      [store = store_, mutex](RecordHandler answered) {
        store->records()->read(mutex, std::move(answered));
      },
      counted(RequestKind::read_record, std::move(handler)));
}

void CheckedRecords::write(const RecordWrite& write, RecordHandler handler) {
  try {
    check(write);
  } catch (const Error& error) {
    handler(error);
    return;
  }
  attachment_->record_writes().send(
      [store = store_, write](RecordHandler answered) {
        store->records()->write(write, std::move(answered));
      },
      counted(RequestKind::write_record, std::move(handler)));
}

/// Counted with the time that the request has waited for its turn.
RecordHandler CheckedRecords::counted(RequestKind kind, RecordHandler handler) const {
  if (!statistics_) return handler;
  return [clock = clock_, statistics = statistics_, kind, sent_at = clock_->now(),
          handler = std::move(handler)](RecordResult result) {
    count(statistics.get(), *clock, kind, sent_at, std::get_if<Error>(&result));
    handler(std::move(result));
  };
}

void CheckedRecords::check(const std::string& mutex) const {
  if (fork_guard_.in_child()) {
    throw IllegalStateError{
        "these records belong to the parent process; create a new factory after fork()"};
  }
  check_name("mutex name", mutex, store_->name_limits().mutex);
  store_->check_names(mutex, {});
}

void CheckedRecords::check(const RecordWrite& write) const {
  check(write.mutex);
  if (write.owner) {
    const std::string& id = write.owner->contender_id;
    check_name("contender id", id, store_->name_limits().contender_id);
    store_->check_names(write.mutex, id);
  }
  check_text(write.text);
}

}  // namespace simba::engine
