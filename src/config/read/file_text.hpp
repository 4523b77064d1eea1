#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace simba::config {

/// The whole file. Throws Error of kind `configuration` if it is missing, a folder, not to be
/// read, or longer than `limit`; the text begins with what is wrong and does not name the file.
std::string read_file(const std::filesystem::path& file, std::size_t limit);

}  // namespace simba::config
