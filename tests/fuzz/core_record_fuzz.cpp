// Feeds texts to the reader of records of shared slots. Whatever is read is written again, so that
// it can be read; what is not a record is refused. The input is also an output and a message.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "schedule/slot_record.hpp"
#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using fuzz::check;

const RecordOwner owner{"me", 1};
constexpr SystemTime now{std::chrono::hours{24 * 365 * 50}};

/// Shortening ends after one step, so a second reading is the first one's equal.
void check_written(const SlotRecord& record) {
  const std::string text = to_text(record);
  check(text.size() <= MutexRecords::most_bytes, "a record fits");
  check(fuzz::is_utf8(text), "a record is UTF-8");
  const SlotRecord read = parse_slot_record(text, "m");
  check(parse_slot_record(to_text(read), "m") == read, "what was written is read");
}

void run_core_record(std::string_view text) {
  SlotRecord record;
  try {
    record = parse_slot_record(text, "m");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::unsupported || error.kind() == ErrorKind::internal,
          "what cannot be read is refused");
    check(fuzz::prints(error.what()), "a refusal can be shown");
  }
  check_written(record);
  report_of(record);
  if (record.definition.empty()) {
    try {
      begin_key(record, "m", owner, text.substr(0, 50), {}, now);
    } catch (const InvalidArgumentError&) {
    }
  } else if (!record.open && record.number < 1'000'000) {
    begin_run(record, {.time = now}, owner, now);
  }
  check_written(record);
  if (record.open) {
    end_run(record, {RunOutcome::failed, 1, std::string{text}, std::string{text}},
            {.promise = SlotPromise::at_least_once}, now);
  }
  check_written(record);
}

}  // namespace
}  // namespace simba::detail

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::detail::run_core_record({reinterpret_cast<const char*>(data), size});
  return 0;
}
