// Feeds bytes to all that tools read from Redis servers. The input is what comes over the wire: two
// replies; the whole of it is also the text of INFO, a version and a key.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "redis/admin/admin_answers.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/resp_reader.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using fuzz::check;

/// Those that are missing are nil.
std::array<Reply, 2> replies_in(std::string_view bytes) {
  std::array<Reply, 2> replies{};
  RespReader reader{RespLimits{.bytes = 1'024, .elements = 64}};
  reader.feed(bytes);
  try {
    for (Reply& reply : replies) {
      auto next = reader.next();
      if (!next) break;
      reply = std::move(*next);
    }
  } catch (const Error&) {  // of the reader, which has a target of its own
  }
  return replies;
}

/// An exception other than Error is a find.
void check_entry(const std::array<Reply, 2>& replies) {
  constexpr std::chrono::milliseconds longest = std::chrono::days{365};
  try {
    const engine::MutexEntry entry = entry_in(replies, "m");
    check(entry.mutex == "m", "it is the mutex that was asked about");
    check(!entry.left || (entry.left->count() >= 0 && *entry.left <= longest),
          "what is left of a lease is within its bounds");
    check(!entry.owner_id.empty() || entry.left == std::chrono::milliseconds::zero(),
          "nothing is left of no lease");
    check(entry.acquired_at >= StoreTime{}, "no moment is before the epoch");
  } catch (const Error& error) {
    check(fuzz::prints(error.what()), "a refusal prints");
  }
}

void run_redis_admin(std::string_view bytes) {
  const auto replies = replies_in(bytes);
  check_entry(replies);
  for (const Reply& reply : replies) {
    const auto time = server_time(reply);
    check(!time || *time > StoreTime{}, "a server's time is after the epoch");
  }
  for (const std::string_view key : {"redis_version", "cluster_state", "a", ""}) {
    const std::string value = value_in(bytes, key);
    check(fuzz::prints(value) && value.size() <= detail::longest_excerpt + 3,
          "a value can be shown");
  }
  is_too_old(bytes);
  const std::string_view mutex = mutex_of(bytes);
  if (!mutex.empty()) {
    const std::string lock = lock_name(mutex);
    check(bytes == lock || bytes == lock + ":fence", "a key is of the mutex that it names");
  }
  if (!bytes.empty()) {
    const std::string lock = lock_name(bytes);
    check(mutex_of(lock) == bytes, "the key of a mutex leads to it");
    check(mutex_of(lock + ":fence") == bytes, "so does the key of its token");
  }
}

}  // namespace
}  // namespace simba::redis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::redis::run_redis_admin({reinterpret_cast<const char*>(data), size});
  return 0;
}
