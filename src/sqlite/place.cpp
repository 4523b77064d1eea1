#include "sqlite/place.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
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

/// The mount that a file or directory is on; empty: it cannot be opened, as opening the database
/// will tell. Throws Error (unsupported) where the system does not say. O_PATH: closing another
/// descriptor would drop the locks that SQLite has on the file.
std::optional<int> mount_of(const std::filesystem::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_PATH | O_CLOEXEC | flags);
  if (descriptor < 0) return std::nullopt;
  std::ifstream facts{fmt::format("/proc/self/fdinfo/{}", descriptor)};
  const bool out_of_descriptors = !facts && (errno == EMFILE || errno == ENFILE);
  std::optional<int> mount;
  for (std::string name; !mount && facts >> name;) {
    if (int number = 0; name == "mnt_id:" && facts >> number) mount = number;
  }
  ::close(descriptor);
  if (!mount && !out_of_descriptors) {
    refuse(ErrorKind::unsupported,
           fmt::format("/proc/self/fdinfo does not tell which mount {} is on, so a file that is "
                       "mounted on its own, with which a mutex could have two owners, would go "
                       "unnoticed; mount /proc, or use another store",
                       path.string()));
  }
  return mount;
}

std::filesystem::path absolute_path(const std::filesystem::path& file) {
  std::error_code no_folder;  // this process is in one that was removed
  auto path = std::filesystem::absolute(file, no_folder);
  return no_folder ? file : path;
}

/// The links of its directory followed, as far as that exists.
std::filesystem::path without_links(const std::filesystem::path& file) {
  std::error_code unresolved;
  const auto folder = std::filesystem::weakly_canonical(file.parent_path(), unresolved);
  return unresolved ? file : folder / file.filename();
}

/// The first link on the path replaced by what it leads to; nothing where there is none.
std::optional<std::filesystem::path> one_link_further(const std::filesystem::path& folder) {
  std::filesystem::path passed;
  for (auto part = folder.begin(); part != folder.end(); ++part) {
    std::error_code no_link;
    const auto target = std::filesystem::read_symlink(passed / *part, no_link);
    if (no_link) {
      passed /= *part;
      continue;
    }
    auto further = passed / target;
    for (++part; part != folder.end(); ++part) further /= *part;
    return further;
  }
  return std::nullopt;
}

}  // namespace

std::string_view shared_file_system(std::uint32_t magic) noexcept {
  struct Kind {
    std::uint32_t magic;
    std::string_view name;
  };
  // From linux/magic.h; where that is silent, from the file system's own source or GNU stat.
  constexpr std::array<Kind, 20> kinds{{
      {0x00006969U, "NFS"},    {0x0000517BU, "SMB"},      {0xFF534D42U, "CIFS"},
      {0xFE534D42U, "SMB"},    {0x65735546U, "FUSE"},     {0x01021997U, "9P"},
      {0x00C36400U, "Ceph"},   {0x5346414FU, "AFS"},      {0x6B414653U, "AFS"},
      {0x73757245U, "Coda"},   {0x01161970U, "GFS2"},     {0x7461636FU, "OCFS2"},
      {0x0BD00BD0U, "Lustre"}, {0x47504653U, "GPFS"},     {0x19830326U, "BeeGFS"},
      {0xAAD7AAEAU, "PanFS"},  {0xBEEFDEADU, "StorNext"}, {0x786F4256U, "vboxsf"},
      {0xBACBACBCU, "vmhgfs"}, {0x7C7C6673U, "prl_fs"},
  }};
  const auto* const found = std::find_if(kinds.begin(), kinds.end(),
                                         [&](const Kind& kind) { return kind.magic == magic; });
  return found == kinds.end() ? std::string_view{} : found->name;
}

Place::Place(const std::filesystem::path& file, FileMode mode, FileSystem file_system)
    : named_{absolute_path(file)},
      file_{without_links(named_)},
      mode_{mode},
      file_system_{file_system} {}

void Place::check() const {
  check_file_system();
  check_folders(file_.parent_path());
  // Each directory that holds a link on the way, of which the system follows as many.
  constexpr int most_links = 40;
  auto on_the_way = std::optional{named_.parent_path()};
  for (int links = 0; named_ != file_ && on_the_way && links <= most_links; ++links) {
    check_folders(*on_the_way);
    on_the_way = one_link_further(*on_the_way);
  }
  const auto mount = mount_of(file_.parent_path(), O_DIRECTORY);
  for (const std::string_view suffix : {"", "-wal", "-shm", "-journal", "-alive"}) {
    check_file(file_.string().append(suffix), mount);
  }
}

void Place::check_file_system() const {
  if (file_system_ == FileSystem::any) return;
  struct statfs facts {};
  if (::statfs(file_.parent_path().c_str(), &facts) != 0) return;
  const std::string_view name = shared_file_system(static_cast<std::uint32_t>(facts.f_type));
  if (name.empty()) return;
  refuse(ErrorKind::unsupported,
         fmt::format("{} is on a {} file system, whose locks may not exclude other hosts or "
                     "processes; use a local file system or another store, or set file-system to "
                     "any if its locks are known to work",
                     file_.string(), name));
}

void Place::check_folders(const std::filesystem::path& folder) const {
  struct stat innermost {};
  const bool is_known = ::stat(folder.c_str(), &innermost) == 0;
  for (auto at = folder;; at = at.parent_path()) {
    const std::string text = at.string();
    struct stat link {};
    if (::lstat(at.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && !is_own_or_roots(link.st_uid)) {
      refuse(ErrorKind::permission,
             fmt::format("{} is a symbolic link that belongs to another user (uid {}), who could "
                         "make it lead elsewhere; use the directory itself",
                         text, link.st_uid));
    }
    struct stat facts {};
    if (::stat(at.c_str(), &facts) != 0) {
      // With fs.protected_symlinks a link of another user in a sticky directory leads nowhere if it
      // comes last, as here, and leads on in the middle of the path to a file.
      if (errno == ENOENT || errno == ENOTDIR || at == at.parent_path()) return;
      continue;
    }
    const bool sticky = at != folder && (facts.st_mode & S_ISVTX) != 0;
    const bool groups = mode_ == FileMode::group && is_known && facts.st_uid == innermost.st_uid;
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

void Place::check_file(const std::filesystem::path& file, std::optional<int> mount) const {
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0) return;
  const std::string text = file.string();
  if (S_ISDIR(facts.st_mode) && file == file_) return;  // opening it tells what to do
  if (!S_ISREG(facts.st_mode)) {
    refuse(ErrorKind::permission,
           fmt::format("{} is {}; remove it", text,
                       S_ISLNK(facts.st_mode) ? "a symbolic link" : "not a regular file"));
  }
  // What SQLite and we put beside such a file is in another directory for each who mounts it.
  const auto own_mount = mount_of(file, O_NOFOLLOW);
  if (own_mount && mount && *own_mount != *mount) {
    refuse(ErrorKind::unsupported,
           fmt::format("file {} is mounted on its own, so each container has different companion "
                       "files, and a mutex could have two owners; mount its directory instead",
                       text));
  }
  if (facts.st_nlink > 1 && file == file_) {
    refuse(
        ErrorKind::unsupported,
        fmt::format("file {} has {} hard links, and SQLite keeps different companion files under "
                    "each name, so a mutex could have two owners; remove the other names (find "
                    "DIRECTORY -samefile {} lists them), or replace each of them with a copy",
                    text, facts.st_nlink, text));
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

// Closing an ordinary descriptor would drop the locks that SQLite has on the file elsewhere in this
// process. One of O_PATH has no part in locks, and means the same file to the end, whatever is put
// in its place meanwhile.
void Place::make() const noexcept {
  const mode_t bits = mode_ == FileMode::group ? 0660U : 0600U;
  if (::mknod(file_.c_str(), S_IFREG | bits, 0) != 0) return;
  const int made = ::open(file_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (made < 0) return;
  struct stat facts {};
  if (::fstat(made, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() &&
      facts.st_nlink == 1 && facts.st_size == 0) {
    std::array<char, 32> same{};
    fmt::format_to_n(same.data(), same.size() - 1, "/proc/self/fd/{}", made);
    ::chmod(same.data(), bits);  // whatever the umask
  }
  ::close(made);
}

}  // namespace simba::sqlite
