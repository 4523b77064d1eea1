#include "support/processes/process_state.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace simba::support {

namespace fs = std::filesystem;

namespace {

/// Of a file below /proc; what cannot be read, as that of a process that ends meanwhile, is left
/// out.
std::string text_of(const fs::path& file) {
  std::ifstream stream{file};
  std::ostringstream text;
  text << stream.rdbuf();  // unlike an iterator, it does not throw
  return text.str();
}

}  // namespace

bool is_stopped(pid_t process) {
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator{fmt::format("/proc/{}/task", process), gone}) {
    const std::string text = text_of(thread.path() / "stat");
    // The name, in brackets, may have anything in it; the state follows.
    const auto name_end = text.rfind(") ");
    if (name_end == std::string::npos) continue;
    const char state = text[name_end + 2];
    if (state != 'T' && state != 't' && state != 'Z' && state != 'X') return false;
  }
  return true;
}

bool holds_file_lock(pid_t process) {
  std::ifstream locks{"/proc/locks"};
  for (std::string line; std::getline(locks, line);) {
    // E.g. "7: POSIX  ADVISORY  WRITE 4711 00:1b:436489 120 120".
    std::istringstream words{line};
    std::string number;
    std::string kind;
    std::string strictness;
    std::string access;
    pid_t owner = 0;
    words >> number >> kind >> strictness >> access >> owner;
    if (kind == "POSIX" && access == "WRITE" && owner == process) return true;
  }
  return false;
}

std::vector<std::string> processes_about(const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    std::string line = text_of(entry.path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(text) != std::string::npos) found.push_back(std::move(line));
  }
  return found;
}

}  // namespace simba::support
