#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace simba::support {

/// Whether no thread of the process runs: all have been stopped, or it is gone.
bool is_stopped(pid_t process);

/// Whether it holds a lock, in the way of POSIX, by which it alone may write to a part of a file.
bool holds_file_lock(pid_t process);

/// The command lines of all processes that have this text in them, with a space between words.
std::vector<std::string> processes_about(const std::string& text);

}  // namespace simba::support
