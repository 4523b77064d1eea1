// Feeds rows to what makes leases of them. The input: five numbers of eight bytes, least first
// (acquired_at, ttl_at, transition_at, version, now), and the owner.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "sql/rows.hpp"

namespace simba::sql {
namespace {

using fuzz::check;

void run_sql_row(std::string_view bytes) {
  Row row;
  row.mutex = "m";
  row.acquired_at = fuzz::take_number(bytes);
  row.ttl_at = fuzz::take_number(bytes);
  row.transition_at = fuzz::take_number(bytes);
  row.version = static_cast<FencingToken>(fuzz::take_number(bytes));
  row.now = fuzz::take_number(bytes);
  row.owner_id = std::string{bytes};

  constexpr std::chrono::milliseconds longest = std::chrono::days{365};
  const engine::LeaseRecord record = record_of(row);
  check(record.fencing_token == row.version, "the token is the version");
  check(record.ttl_left.count() >= 0 && record.ttl_left <= longest &&
            record.transition_left.count() >= 0 && record.transition_left <= longest,
        "what is left of a lease is within its bounds");
  if (record.owner_id.empty()) {
    check(row.owner_id.empty() || row.transition_at < row.now, "a lease that lasts has an owner");
    check(record.ttl_left.count() == 0 && record.transition_left.count() == 0,
          "nothing is left of no lease");
    return;
  }
  check(record.owner_id == row.owner_id, "the owner is the one of the row");
  check(record.ttl_left <= record.transition_left,
        "the ttl ends with the transition at the latest");
  check(record.lease.acquired_at >= StoreTime{} && record.lease.ttl_at >= StoreTime{} &&
            record.lease.transition_at >= StoreTime{},
        "no moment is before the epoch");
  const bool plain = row.now >= 0 && row.ttl_at >= row.now && row.transition_at >= row.ttl_at &&
                     row.transition_at - row.now <= longest.count();
  if (plain) {
    check(record.ttl_left.count() == row.ttl_at - row.now &&
              record.transition_left.count() == row.transition_at - row.now,
          "a lease is as long as its row says");
  }
}

}  // namespace
}  // namespace simba::sql

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::sql::run_sql_row({reinterpret_cast<const char*>(data), size});
  return 0;
}
