#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "cli/errors.hpp"

namespace simba::cli::demo {

/// A new folder among the temporary ones, which vanishes with this object.
class Folder {
 public:
  /// Throws Failure.
  Folder() : path_{std::filesystem::temp_directory_path() / "simba-demo-XXXXXX"} {
    std::string name = path_.string();
    if (::mkdtemp(name.data()) == nullptr) {
      const std::error_code error{errno, std::generic_category()};
      throw Failure{ExitCode::refused, fmt::format("cannot make a folder in {}: {}; set TMPDIR",
                                                   path_.parent_path().string(), error.message())};
    }
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace simba::cli::demo
