#include "sqlite/liveness.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::sqlite {
namespace {

constexpr std::size_t id_size = 32;

/// The bytes that hold the id are locked only while it is written.
constexpr std::int64_t first_place = 1024;

Error failure(std::string_view what, const std::filesystem::path& path, int error) {
  const auto kind = error == EACCES || error == EPERM || error == EROFS ? ErrorKind::permission
                    : error == ENOENT                                   ? ErrorKind::configuration
                                                                        : ErrorKind::unavailable;
  return Error{kind, fmt::format("SQLite store: {} {}: {}", what, path.string(),
                                 std::strerror(error))};  // NOLINT(concurrency-mt-unsafe)
}

/// A new file gets mode and owner of the database, as SQLite does with its own files beside it.
int open_file(const std::filesystem::path& path, const std::filesystem::path& database,
              ChildProcesses child_processes) {
  const int flags = O_RDWR | (child_processes == ChildProcesses::keep_lock ? 0 : O_CLOEXEC);
  struct stat like {};
  const bool known = ::stat(database.c_str(), &like) == 0;
  const mode_t mode = known ? like.st_mode & 0777U : 0600U;
  int file = ::open(path.c_str(), flags | O_CREAT | O_EXCL, mode);
  if (file >= 0) {
    ::fchmod(file, mode);
    if (known && ::geteuid() == 0) {
      [[maybe_unused]] const int ignored = ::fchown(file, like.st_uid, like.st_gid);
    }
    return file;
  }
  if (errno == EEXIST) file = ::open(path.c_str(), flags);
  if (file < 0) throw failure("cannot open", path, errno);
  return file;
}

struct flock byte_at(std::int64_t place, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

bool lock_byte(int file, std::int64_t place) noexcept {
  struct flock lock = byte_at(place, F_WRLCK);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

void unlock_byte(int file, std::int64_t place) noexcept {
  struct flock lock = byte_at(place, F_UNLCK);
  ::fcntl(file, F_OFD_SETLK, &lock);
}

std::uint64_t random_number() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

std::string read_id(int file) {
  std::array<char, id_size> id{};
  const auto size = ::pread(file, id.data(), id.size(), 0);
  return size == static_cast<ssize_t>(id.size()) ? std::string{id.data(), id.size()}
                                                 : std::string{};
}

/// The id of the file; the first process to come writes it.
std::string ensure_id(int file, const std::filesystem::path& path, LocalTime deadline,
                      const sql::Wakeup& closing) {
  for (;;) {
    if (auto id = read_id(file); !id.empty()) return id;
    if (lock_byte(file, 0)) break;
    if (errno != EAGAIN && errno != EACCES) throw failure("cannot lock", path, errno);
    if (sql::real_now() >= deadline ||
        sql::wait_for(closing, sql::real_now() + std::chrono::milliseconds{1}) ==
            sql::Waited::woken) {
      throw Error{
          ErrorKind::unavailable,
          fmt::format("SQLite store: timed out waiting for another process that is creating {}; is "
                      "it paused?",
                      path.string())};
    }
  }
  auto id = read_id(file);
  if (id.empty()) {
    id = fmt::format("{:016x}{:016x}", random_number(), random_number());
    if (::pwrite(file, id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
      const int error = errno;
      unlock_byte(file, 0);
      throw failure("cannot write", path, error);
    }
  }
  unlock_byte(file, 0);
  return id;
}

/// Locks a byte at a random place, so that no place is used twice.
std::int64_t lock_free_byte(int file, const std::filesystem::path& path) {
  for (;;) {
    const auto place = first_place + static_cast<std::int64_t>(random_number() >> 2U);
    if (lock_byte(file, place)) return place;
    if (errno != EAGAIN && errno != EACCES) throw failure("cannot lock", path, errno);
  }
}

}  // namespace

Liveness::Liveness(const std::filesystem::path& path, const std::filesystem::path& database,
                   ChildProcesses child_processes, LocalTime deadline, const sql::Wakeup& closing)
    : file_{open_file(path, database, child_processes)} {
  try {
    struct stat status {};
    if (::fstat(file_, &status) != 0) throw failure("cannot read", path, errno);
    // Also the number of the file: a copy has the same id inside, but nobody's locks.
    file_id_ = fmt::format("{}.{}", ensure_id(file_, path, deadline, closing), status.st_ino);
    const std::int64_t place = lock_free_byte(file_, path);
    mark_ = fmt::format("{}:{}", file_id_, place);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Liveness::~Liveness() { ::close(file_); }

Liveness::State Liveness::state_of(std::string_view mark) const noexcept {
  if (mark == mark_) return State::alive;
  const auto colon = mark.find(':');
  if (colon == std::string_view::npos || mark.substr(0, colon) != file_id_) return State::unknown;
  const std::string_view digits = mark.substr(colon + 1);
  std::int64_t place = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() ||
      place < first_place) {
    return State::unknown;
  }
  struct flock lock = byte_at(place, F_WRLCK);
  if (::fcntl(file_, F_OFD_GETLK, &lock) != 0) return State::unknown;
  return lock.l_type == F_UNLCK ? State::gone : State::alive;
}

}  // namespace simba::sqlite
