#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "support/temporary_root.hpp"

namespace simba::support {

/// A new folder that vanishes with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (temporary_root() / "simba-test-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      throw std::system_error{errno, std::generic_category(), path};
    }
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace simba::support
