#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/supervisor/caller.hpp"

namespace simba::support {

/// A folder that takes the place of another, for one program alone.
struct Cover {
  std::filesystem::path from;
  std::filesystem::path over;
};

/// A program to run as the servers' account: nobody where we are root, else ourselves.
struct Command {
  std::vector<std::string> words;    ///< the program's path first
  std::filesystem::path folder;      ///< to run in
  std::filesystem::path log;         ///< gets its output, appended
  std::optional<Cover> cover = {};   ///< what it finds in place of what is there
  std::filesystem::path input = {};  ///< its standard input; empty: nothing
};

/// Starts it. It is killed when this process ends. Throws std::system_error.
pid_t spawn(const Command& command);

/// Runs it to its end. Throws std::runtime_error, with the end of its log, where it fails.
void run(const Command& command, Caller& caller);

/// Hands a file or folder, with all that is in it, to the servers' account.
void hand_over(const std::filesystem::path& path);

/// The last lines of a file.
std::string tail(const std::filesystem::path& file);

/// A process and all that descend from it.
std::vector<pid_t> family(pid_t process);

}  // namespace simba::support
