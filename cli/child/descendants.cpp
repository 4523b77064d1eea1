#include "cli/child/descendants.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace simba::cli {
namespace {

/// The number that `text` begins with after blanks; takes its digits away. -1: there is none, or
/// none that a process can have.
pid_t take_number(std::string_view& text) noexcept {
  constexpr pid_t largest = 1 << 22;  // PID_MAX_LIMIT
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  pid_t number = -1;
  bool fits = true;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    if (fits) number = (number < 0 ? 0 : number) * 10 + (text.front() - '0');
    fits = fits && number <= largest;
  }
  return fits ? number : -1;
}

/// False: there is no such process.
bool read_process(int proc, pid_t number, ProcessStat& process) noexcept {
  char path[32] = {};
  constexpr std::string_view last = "/stat";
  std::size_t at = sizeof path - last.size() - 1;
  std::copy(last.begin(), last.end(), path + at);
  for (auto rest = number; rest > 0; rest /= 10) path[--at] = static_cast<char>('0' + rest % 10);
  const int file = ::openat(proc, path + at, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[512];
  const auto size = ::read(file, buffer, sizeof buffer);
  ::close(file);
  return size > 0 && read_stat({buffer, static_cast<std::size_t>(size)}, process);
}

bool is_alive(const ProcessStat& process) noexcept {
  return process.state != 'Z' && process.state != 'X' && process.state != 'x';
}

bool descends(int proc, ProcessStat process, pid_t ancestor) noexcept {
  constexpr int deep = 1000;  // parents may change while we look
  for (int i = 0; i < deep && process.parent > 0; ++i) {
    if (process.parent == ancestor) return true;
    if (!read_process(proc, process.parent, process)) return false;
  }
  return false;
}

struct Search {
  int proc;
  pid_t self;
  pid_t session;
  pid_t group;
  int signal;
  pid_t spared;

  void look_at(pid_t number, Descendants& descendants) const noexcept {
    if (number == self || number == spared || !is_ours(number)) return;
    // The number may become another's at any moment; what the file stands for does not change.
    const int file = static_cast<int>(::syscall(SYS_pidfd_open, number, 0));
    if (file < 0 && errno == ESRCH) return;  // gone
    if (file < 0 || is_ours(number)) {
      const auto result = file < 0 ? ::kill(number, signal)
                                   : ::syscall(SYS_pidfd_send_signal, file, signal, nullptr, 0);
      if (result == 0) {
        descendants.living = true;
      } else if (errno == EPERM) {
        descendants.foreign = true;
      }
    }
    if (file >= 0) ::close(file);
  }

  bool is_ours(pid_t number) const noexcept {
    ProcessStat process;
    return read_process(proc, number, process) && is_alive(process) &&
           (process.group == group || process.session == session) && descends(proc, process, self);
  }
};

}  // namespace

bool read_stat(std::string_view text, ProcessStat& stat) noexcept {
  const auto name_end = text.rfind(')');
  if (name_end == std::string_view::npos || text.size() - name_end <= 3) return false;
  ProcessStat read{.state = text[name_end + 2]};
  text.remove_prefix(name_end + 3);
  for (pid_t* const number : {&read.parent, &read.group, &read.session}) {
    *number = take_number(text);
    if (*number < 0) return false;
  }
  stat = read;
  return true;
}

Descendants look_for_descendants(pid_t group, int signal, pid_t spared) noexcept {
  Descendants descendants;
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return descendants;
  const Search search{proc, ::getpid(), ::getsid(0), group, signal, spared};
  alignas(8) char buffer[8192];
  constexpr std::size_t length_at = 16;  // of linux_dirent64
  constexpr std::size_t name_at = 19;
  long size = 0;
  while ((size = ::syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0) {
    std::uint16_t length = 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size); at += length) {
      std::memcpy(&length, buffer + at + length_at, sizeof length);
      std::string_view name{buffer + at + name_at};
      const pid_t number = take_number(name);
      if (number <= 0 || !name.empty()) continue;
      descendants.known = true;
      search.look_at(number, descendants);
    }
  }
  ::close(proc);
  return descendants;
}

}  // namespace simba::cli
