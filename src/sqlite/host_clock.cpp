#include "sqlite/host_clock.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <string>
#include <system_error>

#include "core/boot_clock.hpp"
#include "simba/core/error.hpp"

namespace simba::sqlite {
namespace {

/// The file below tells of the namespace that children get, which may be another than ours.
void check_namespace() {
  std::error_code ignored;
  const auto ours = std::filesystem::read_symlink("/proc/self/ns/time", ignored);
  const auto of_children =
      std::filesystem::read_symlink("/proc/self/ns/time_for_children", ignored);
  if (ours != of_children) {
    throw Error{
        ErrorKind::unsupported,
        "SQLite store: cannot determine the host's clock because this process unshared its time "
        "namespace without forking; start it in the new namespace"};
  }
}

}  // namespace

std::chrono::nanoseconds boot_time_offset(std::istream& offsets) {
  constexpr std::int64_t most_seconds = 4'700'000'000;  // half of what the kernel can count
  constexpr std::int64_t second = 1'000'000'000;
  std::string clock;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  while (offsets >> clock >> seconds >> nanoseconds) {
    if (clock != "boottime") continue;
    if (seconds < -most_seconds || seconds > most_seconds || nanoseconds < 0 ||
        nanoseconds >= second) {
      throw Error{ErrorKind::unsupported,
                  "SQLite store: /proc/self/timens_offsets has an offset that is out of range, so "
                  "the host's clock cannot be determined"};
    }
    return std::chrono::seconds{seconds} + std::chrono::nanoseconds{nanoseconds};
  }
  return std::chrono::nanoseconds::zero();
}

HostClock make_host_clock() {
  check_namespace();
  std::string boot_id;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot_id;
  if (boot_id.empty()) {
    throw Error{
        ErrorKind::unsupported,
        "SQLite store: cannot read /proc/sys/kernel/random/boot_id, which tells leases of an "
        "earlier boot from current ones; mount /proc"};
  }
  std::ifstream offsets{"/proc/self/timens_offsets"};
  return {.boot_id = boot_id, .since_boot = [offset = boot_time_offset(offsets)] {
            return std::chrono::floor<std::chrono::milliseconds>(
                detail::BootClock::now().time_since_epoch() - offset);
          }};
}

}  // namespace simba::sqlite
