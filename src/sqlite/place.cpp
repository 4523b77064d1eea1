#include "sqlite/place.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::sqlite {
namespace {

[[noreturn]] void refuse(ErrorKind kind, std::string_view reason) {
  throw Error{kind, fmt::format("SQLite store: {}", reason)};
}

bool is_own_or_roots(uid_t owner) noexcept { return owner == 0 || owner == ::geteuid(); }

/// A file that was mounted by itself: what SQLite and we put beside it is in another directory for
/// each who mounts it.
bool is_mounted(const std::filesystem::path& file) noexcept {
  struct statx facts {};
  if (::statx(AT_FDCWD, file.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &facts) == 0 &&
      (facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  // A kernel before 5.8: at least a file of another file system is told.
  struct stat inner {};
  struct stat outer {};
  return ::lstat(file.c_str(), &inner) == 0 && ::stat(file.parent_path().c_str(), &outer) == 0 &&
         inner.st_dev != outer.st_dev;
}

}  // namespace

Place::Place(std::filesystem::path file, FileMode mode, FileSystem file_system)
    : file_{std::move(file)}, mode_{mode}, file_system_{file_system} {}

void Place::check() const {
  check_file_system();
  check_folders();
  for (const std::string_view suffix : {"", "-wal", "-shm", "-journal", "-alive"}) {
    check_file(file_.string().append(suffix));
  }
}

/// By the numbers of statfs(2): file systems whose locks do not reach, or do not surely reach,
/// every process.
void Place::check_file_system() const {
  if (file_system_ == FileSystem::any) return;
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 9> kinds{{
      {0x6969U, "NFS"},
      {0x517BU, "SMB"},
      {0xFF534D42U, "CIFS"},
      {0xFE534D42U, "SMB"},
      {0x65735546U, "FUSE"},
      {0x01021997U, "9P"},
      {0x00C36400U, "Ceph"},
      {0x5346414FU, "AFS"},
      {0x01161970U, "GFS2"},
  }};
  struct statfs facts {};
  if (::statfs(file_.parent_path().c_str(), &facts) != 0) return;
  const auto* const found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
    return kind.first == static_cast<std::uint32_t>(facts.f_type);
  });
  if (found == kinds.end()) return;
  refuse(ErrorKind::unsupported,
         fmt::format("{} is on a {} file system, whose locks may not exclude other hosts or "
                     "processes; use a local file system or another store, or set file-system to "
                     "any if its locks are known to work",
                     file_.string(), found->second));
}

void Place::check_folders() const {
  struct stat innermost {};
  const auto folder = file_.parent_path();
  if (::stat(folder.c_str(), &innermost) != 0) return;
  for (auto at = folder;; at = at.parent_path()) {
    struct stat facts {};
    if (::stat(at.c_str(), &facts) != 0) return;
    const bool sticky = at != folder && (facts.st_mode & S_ISVTX) != 0;
    const std::string text = at.string();
    const bool groups = mode_ == FileMode::group && facts.st_uid == innermost.st_uid;
    if (!is_own_or_roots(facts.st_uid) && !groups) {
      refuse(ErrorKind::permission,
             fmt::format("directory {} belongs to another user (uid {}), who could replace the "
                         "database; run as that user, use a directory of this user or of root, or "
                         "set mode to 0660 to share the database",
                         text, facts.st_uid));
    }
    if ((facts.st_mode & S_IWOTH) != 0 && !sticky) {
      refuse(ErrorKind::permission,
             fmt::format("any user can put files into directory {} (mode {:04o}); use a directory "
                         "of this user, or run: chmod o-w {}",
                         text, facts.st_mode & 07777U, text));
    }
    if ((facts.st_mode & S_IWGRP) != 0 && !sticky && mode_ != FileMode::group) {
      refuse(ErrorKind::permission,
             fmt::format("the group of directory {} can put files into it (mode {:04o}); run: "
                         "chmod g-w {}, or set mode to 0660 to share the database with the group",
                         text, facts.st_mode & 07777U, text));
    }
    if (at == at.parent_path()) return;
  }
}

void Place::check_file(const std::filesystem::path& file) const {
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0) return;
  const std::string text = file.string();
  if (S_ISDIR(facts.st_mode) && file == file_) return;  // opening it tells what to do
  if (!S_ISREG(facts.st_mode)) {
    refuse(ErrorKind::permission,
           fmt::format("{} is {}; remove it", text,
                       S_ISLNK(facts.st_mode) ? "a symbolic link" : "not a regular file"));
  }
  if (is_mounted(file)) {
    refuse(ErrorKind::unsupported,
           fmt::format("file {} is mounted on its own, so each container has different companion "
                       "files, and a mutex could have two owners; mount its directory instead",
                       text));
  }
  if (mode_ != FileMode::group && !is_own_or_roots(facts.st_uid)) {
    refuse(ErrorKind::permission,
           fmt::format("file {} belongs to another user (uid {}); run as that user, use another "
                       "path, or set mode to 0660 to share the database",
                       text, facts.st_uid));
  }
  if ((facts.st_mode & S_IWOTH) != 0) {
    refuse(ErrorKind::permission, fmt::format("any user can write file {} (mode {:04o}); run: "
                                              "chmod o-rwx {}",
                                              text, facts.st_mode & 07777U, text));
  }
  if ((facts.st_mode & S_IWGRP) != 0 && mode_ != FileMode::group) {
    refuse(ErrorKind::permission,
           fmt::format("the group of file {} can write it (mode {:04o}); run: chmod g-rwx {}, or "
                       "set mode to 0660 to share the database with the group",
                       text, facts.st_mode & 07777U, text));
  }
}

// Not by open(): closing a descriptor would drop the locks that SQLite has on the file elsewhere in
// this process.
void Place::make() const noexcept {
  const mode_t bits = mode_ == FileMode::group ? 0660U : 0600U;
  if (::mknod(file_.c_str(), S_IFREG | bits, 0) != 0) return;
  ::chmod(file_.c_str(), bits);  // whatever the umask
}

}  // namespace simba::sqlite
