#pragma once

#include <cstddef>
#include <filesystem>
#include <sys/types.h>

namespace simba::support {

/// A file in memory, all of it, to read and write. Who maps the same file shares the memory; what a
/// killed process has written stays.
///
/// Threads: what lies in the memory does its own synchronisation.
class MappedFile {
 public:
  /// Opens a file as it is. Throws std::system_error.
  explicit MappedFile(const std::filesystem::path& file);

  /// Gives the file this size and these permissions, and makes it where it is missing: bytes that
  /// are new are zero. `flags`: O_EXCL, it must be missing. Throws std::system_error.
  MappedFile(const std::filesystem::path& file, std::size_t size, mode_t mode, int flags = 0);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  void* data() const noexcept { return memory_; }
  std::size_t size() const noexcept { return size_; }

 private:
  /// Closes the descriptor. Not `is_ready`: errno tells why.
  void map(const std::filesystem::path& file, int descriptor, bool is_ready);

  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace simba::support
