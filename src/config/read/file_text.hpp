#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace simba::config {

/// The whole file. Throws Error of kind `configuration` if it is missing, a directory, unreadable
/// or larger than `limit`; the text does not name the file.
std::string read_file(const std::filesystem::path& file, std::size_t limit);

}  // namespace simba::config
