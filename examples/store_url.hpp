#pragma once

#include <filesystem>
#include <string>
#include <unistd.h>

/// Which store an example uses: its first argument, e.g. `redis://127.0.0.1`; without one an SQLite
/// database in the temporary folder, which needs no server. All runs of a user share it, so an
/// example that is started in two terminals contends with itself.
inline std::string store_url(int argc, char** argv) {
  if (argc > 1) return argv[1];
  const auto folder =
      std::filesystem::temp_directory_path() / ("simba-examples-" + std::to_string(getuid()));
  std::filesystem::create_directories(folder);
  return "sqlite:" + (folder / "simba.db").string();
}
