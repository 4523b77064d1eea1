#include "support/mapped_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace simba::support {

MappedFile::MappedFile(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  map(file, descriptor, descriptor != -1);
}

MappedFile::MappedFile(const std::filesystem::path& file, std::size_t size, mode_t mode,
                       int flags) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, mode);
  map(file, descriptor,
      descriptor != -1 && ::fchmod(descriptor, mode) == 0 &&
          ::ftruncate(descriptor, static_cast<off_t>(size)) == 0);
}

MappedFile::~MappedFile() { ::munmap(memory_, size_); }

void MappedFile::map(const std::filesystem::path& file, int descriptor, bool is_ready) {
  struct stat facts {};
  void* memory = MAP_FAILED;
  if (is_ready && ::fstat(descriptor, &facts) == 0) {
    size_ = static_cast<std::size_t>(facts.st_size);
    memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  const int error = errno;
  if (descriptor != -1) {
    ::close(descriptor);
  }
  if (memory == MAP_FAILED) {
    throw std::system_error{error, std::generic_category(), file.string()};
  }
  memory_ = memory;
}

}  // namespace simba::support
