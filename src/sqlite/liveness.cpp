#include "sqlite/liveness.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/text.hpp"
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
int open_file(const std::filesystem::path& path, const std::filesystem::path& database) {
  constexpr int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
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
  if (file < 0 && errno == ELOOP) {
    throw Error{ErrorKind::permission,
                fmt::format("SQLite store: {} is a symbolic link; remove it", path.string())};
  }
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

bool lock_byte(int file, std::int64_t place, short type = F_WRLCK) noexcept {
  struct flock lock = byte_at(place, type);
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

/// Empty: nobody has written it yet.
std::string read_id(int file, const std::filesystem::path& path) {
  std::array<char, id_size> id{};
  if (::pread(file, id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) return {};
  const bool ours = std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (ours) return {id.data(), id.size()};
  throw Error{ErrorKind::configuration,
              fmt::format("SQLite store: {} was not written by Simba; delete it while nobody uses "
                          "the database",
                          path.string())};
}

/// What locks the byte is in the way; waits a moment for it to go.
void wait_for_byte(int file, std::int64_t place, const std::filesystem::path& path,
                   LocalTime deadline, const sql::Wakeup& closing) {
  if (errno != EAGAIN && errno != EACCES) throw failure("cannot lock", path, errno);
  const LocalTime now = sql::real_now();
  if (now < deadline && sql::wait_for(closing, std::min(now + std::chrono::milliseconds{1},
                                                        deadline)) != sql::Waited::woken) {
    return;
  }
  struct flock other = byte_at(place, F_WRLCK);
  const bool known = ::fcntl(file, F_OFD_GETLK, &other) == 0 && other.l_pid > 0;
  throw Error{
      ErrorKind::unavailable,
      fmt::format("SQLite store: timed out waiting for {} that has locked {}; is it paused? "
                  "No user but those who contend should be able to open that file",
                  known ? fmt::format("process {}", other.l_pid) : "another process",
                  path.string())};
}

/// The id of the file; the first process to come writes it.
std::string ensure_id(int file, const std::filesystem::path& path, LocalTime deadline,
                      const sql::Wakeup& closing) {
  for (;;) {
    if (auto id = read_id(file, path); !id.empty()) return id;
    if (lock_byte(file, 0)) break;
    wait_for_byte(file, 0, path, deadline, closing);
  }
  auto id = read_id(file, path);
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
std::int64_t lock_free_byte(int file, const std::filesystem::path& path, LocalTime deadline,
                            const sql::Wakeup& closing) {
  for (;;) {
    const auto place = first_place + static_cast<std::int64_t>(random_number() >> 2U);
    if (lock_byte(file, place)) return place;
    wait_for_byte(file, place, path, deadline, closing);
  }
}

/// A description for child processes, which shares the lock on the byte.
int open_shared(int file, const std::filesystem::path& path, std::int64_t place) {
  // From the only owner to one of several: at no moment is the byte free.
  if (!lock_byte(file, place, F_RDLCK)) throw failure("cannot share the lock of", path, errno);
  struct stat ours {};
  struct stat theirs {};
  const int inherited = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (inherited < 0) throw failure("cannot open", path, errno);
  const bool same = ::fstat(file, &ours) == 0 && ::fstat(inherited, &theirs) == 0 &&
                    ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
  errno = ESTALE;  // somebody has put another in its place
  if (same && lock_byte(inherited, place, F_RDLCK)) return inherited;
  const int error = errno;
  ::close(inherited);
  throw failure("cannot share the lock of", path, error);
}

}  // namespace

Liveness::Liveness(const std::filesystem::path& path, const std::filesystem::path& database,
                   ChildProcesses child_processes, LocalTime deadline, const sql::Wakeup& closing)
    : file_{open_file(path, database)} {
  try {
    struct stat status {};
    if (::fstat(file_, &status) != 0) throw failure("cannot read", path, errno);
    if (!S_ISREG(status.st_mode)) throw failure("not a regular file:", path, EPERM);
    // Also the number of the file: a copy has the same id inside, but nobody's locks.
    file_id_ = fmt::format("{}.{}", ensure_id(file_, path, deadline, closing), status.st_ino);
    const std::int64_t place = lock_free_byte(file_, path, deadline, closing);
    mark_ = fmt::format("{}:{}", file_id_, place);
    if (child_processes == ChildProcesses::keep_lock) inherited_ = open_shared(file_, path, place);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Liveness::~Liveness() {
  if (inherited_ >= 0) ::close(inherited_);
  ::close(file_);
}

Liveness::State Liveness::state_of(std::string_view mark) const noexcept {
  if (mark == mark_) return State::alive;
  const auto colon = mark.find(':');
  if (colon == std::string_view::npos || mark.substr(0, colon) != file_id_) return State::unknown;
  const auto place = detail::parse_number<std::int64_t>(mark.substr(colon + 1));
  if (!place || *place < first_place) return State::unknown;
  struct flock lock = byte_at(*place, F_WRLCK);
  if (::fcntl(file_, F_OFD_GETLK, &lock) != 0) return State::unknown;
  return lock.l_type == F_UNLCK ? State::gone : State::alive;
}

}  // namespace simba::sqlite
