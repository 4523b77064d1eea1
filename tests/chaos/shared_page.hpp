#pragma once

#include <filesystem>
#include <type_traits>

#include "support/mapped_file.hpp"

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
  explicit SharedPage(const std::filesystem::path& file) : file_{file, sizeof(T), 0644} {}

  T* operator->() const noexcept { return static_cast<T*>(file_.data()); }
  T& operator*() const noexcept { return *operator->(); }

 private:
  const support::MappedFile file_;
};

}  // namespace simba::chaos
