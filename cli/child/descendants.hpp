#pragma once

#include <string_view>
#include <sys/types.h>

namespace simba::cli {

/// What /proc/PID/stat tells of a process. 0: no such number.
struct ProcessStat {
  char state = '\0';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

/// Reads the text of that file, in which the name of the process may be anything. False: it is no
/// such text, and `stat` is as before. Nothing but arithmetic.
bool read_stat(std::string_view text, ProcessStat& stat) noexcept;

/// What is left of a command.
struct Descendants {
  bool known = false;    ///< false: /proc cannot be read, and nothing else is true
  bool living = false;   ///< some process is alive that we may signal
  bool foreign = false;  ///< some process is alive that we may not signal: it is another user's
};

/// Looks for living processes that descend from this one and are in the group, or in our session:
/// those have a group of their own, as the jobs of a shell have or what a nested `simba run`
/// guards. So a group of strangers that has got the number is left alone. Zombies do not count, nor
/// do processes in a session of their own, nor `spared`. Sends `signal` to each; 0: to none.
///
/// This process has to be a subreaper. Nothing but system calls.
Descendants look_for_descendants(pid_t group, int signal, pid_t spared = -1) noexcept;

}  // namespace simba::cli
