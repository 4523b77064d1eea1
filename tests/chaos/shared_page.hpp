#pragma once

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <type_traits>
#include <unistd.h>

namespace simba::chaos {

/// A value in a file that several processes map. All zero at first; what a killed process has
/// written stays.
///
/// Threads: as T, which does its own synchronisation.
template <class T>
class SharedPage {
  static_assert(std::is_trivially_destructible_v<T> && std::is_standard_layout_v<T>);

 public:
  /// Makes the file where it is missing; everyone may read it. Throws std::system_error.
  explicit SharedPage(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void* memory = MAP_FAILED;
    if (descriptor != -1 && ::fchmod(descriptor, 0644) == 0 &&
        ::ftruncate(descriptor, sizeof(T)) == 0) {
      memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    const int error = errno;
    if (descriptor != -1) {
      ::close(descriptor);
    }
    if (memory == MAP_FAILED) {
      throw std::system_error{error, std::generic_category(), file.string()};
    }
    value_ = static_cast<T*>(memory);
  }
  ~SharedPage() { ::munmap(value_, sizeof(T)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  T* operator->() const noexcept { return value_; }
  T& operator*() const noexcept { return *value_; }

 private:
  T* value_ = nullptr;
};

}  // namespace simba::chaos
