#include "soak/process_figures.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/whole_number.hpp"

namespace simba::soak {
namespace {

namespace fs = std::filesystem;

/// The number after "<key>:" in /proc/<pid>/status.
std::optional<std::int64_t> value_in(std::istream& status, std::string_view key) {
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    std::istringstream rest{line.substr(key.size() + 1)};
    std::int64_t value = 0;
    if (rest >> value) return value;
  }
  return std::nullopt;
}

/// A line of the kernel's table of TCP sockets.
struct SocketLine {
  std::string local{};
  std::string state{};
  std::string inode{};
};

std::vector<SocketLine> sockets_at(std::uint16_t port) {
  const std::string suffix = fmt::format(":{:04X}", port);
  std::vector<SocketLine> found;
  for (const char* const file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream table{file};
    std::string line;
    std::getline(table, line);  // the head
    while (std::getline(table, line)) {
      std::istringstream words{line};
      SocketLine one;
      std::string skipped;
      words >> skipped >> one.local >> skipped >> one.state;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> one.inode;
      if (one.local.ends_with(suffix)) found.push_back(std::move(one));
    }
  }
  return found;
}

bool has_socket(const fs::path& process, const std::string& inode) {
  std::error_code error;
  fs::directory_iterator descriptors{process / "fd", error};
  for (; !error && descriptors != fs::directory_iterator{}; descriptors.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(descriptors->path(), gone) == "socket:[" + inode + "]") return true;
  }
  return false;
}

}  // namespace

std::optional<ProcessFigures> figures_of(pid_t process) {
  const std::string folder = fmt::format("/proc/{}", process);
  std::ifstream status{folder + "/status"};
  const auto memory = value_in(status, "VmRSS");  // not there in a process that has ended
  const auto threads = value_in(status, "Threads");
  std::error_code error;
  fs::directory_iterator descriptors{folder + "/fd", error};
  if (!memory || !threads || error) return std::nullopt;
  std::int64_t count = 0;
  for (; !error && descriptors != fs::directory_iterator{}; descriptors.increment(error)) ++count;
  if (error) return std::nullopt;
  return ProcessFigures{.memory = *memory, .threads = *threads, .descriptors = count};
}

std::optional<pid_t> find_listener(std::uint16_t port) {
  constexpr std::string_view listening = "0A";
  for (const SocketLine& socket : sockets_at(port)) {
    if (socket.state != listening) continue;
    std::error_code error;
    fs::directory_iterator processes{"/proc", error};
    for (; !error && processes != fs::directory_iterator{}; processes.increment(error)) {
      const auto process = support::whole_number<pid_t>(processes->path().filename().string());
      if (process && has_socket(processes->path(), socket.inode)) return process;
    }
  }
  return std::nullopt;
}

std::int64_t connections_to(std::uint16_t port) {
  constexpr std::string_view established = "01";
  const auto sockets = sockets_at(port);
  return std::count_if(sockets.begin(), sockets.end(),
                       [&](const SocketLine& socket) { return socket.state == established; });
}

}  // namespace simba::soak
