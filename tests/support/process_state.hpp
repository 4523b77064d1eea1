#pragma once

#include <sys/types.h>

namespace simba::support {

/// Whether no thread of the process runs: all have been stopped, or it is gone.
bool is_stopped(pid_t process);

/// Whether it holds a lock, in the way of POSIX, by which it alone may write to a part of a file.
bool holds_file_lock(pid_t process);

}  // namespace simba::support
