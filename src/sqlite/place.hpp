#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "simba/sqlite/sqlite_factory.hpp"

namespace simba::sqlite {

/// The name of a file system whose locks do not reach, or do not surely reach, every process that
/// sees a file, by the number that statfs(2) gives of it; empty: it is none of these.
std::string_view shared_file_system(std::uint32_t magic) noexcept;

/// Where a database file is, and who is trusted with it: this user and root, and with
/// `FileMode::group` whoever owns the directory or is in its group.
///
/// Nobody else may be able to replace one of its files, or to put a link in its place, so the
/// directory and all above it are looked at, as sshd does with keys. One above it that anyone can
/// write is fine where it is sticky (/tmp). A directory may be named through links; then those that
/// hold the links are looked at, too. The file itself may not be a link.
class Place {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a path alone is a place
  Place(const std::filesystem::path& file, FileMode mode = FileMode::owner,
        FileSystem file_system = FileSystem::local);

  /// Absolute, and without links but perhaps the file itself, so that SQLite, which names its files
  /// beside the one that a link leads to, and we mean the same ones.
  const std::filesystem::path& file() const noexcept { return file_; }

  /// Throws Error that names the reason and the cure: `unsupported` where two processes may see
  /// different files or locks (a file that is mounted by itself or has a second name), or where
  /// this cannot be told (without /proc), `permission` where a stranger may interfere. What
  /// does not exist yet is fine.
  void check() const;

  /// Makes the database file, empty, if it is missing; those beside it get its mode. Where that
  /// fails, opening the file tells why.
  void make() const noexcept;

 private:
  void check_file_system() const;
  void check_folders(const std::filesystem::path& folder) const;
  /// `mount`: the one that the directory is on.
  void check_file(const std::filesystem::path& file, std::optional<int> mount) const;

  std::filesystem::path named_;  ///< absolute, as the user wrote it
  std::filesystem::path file_;
  FileMode mode_;
  FileSystem file_system_;
};

}  // namespace simba::sqlite
