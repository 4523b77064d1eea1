#include "cli/health/service_manager.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "cli/output/printable.hpp"
#include "core/text.hpp"

namespace simba::cli {
namespace {

/// Removes it, so that no program that we start has it.
std::string take_variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
  return text;
}

}  // namespace

ServiceManager::ServiceManager() : address_{take_variable("NOTIFY_SOCKET")} {
  const auto interval = detail::parse_number<std::uint32_t>(take_variable("WATCHDOG_USEC"));
  const std::string process = take_variable("WATCHDOG_PID");
  const bool for_us = process.empty() || process == std::to_string(::getpid());
  if (interval && *interval > 0 && for_us) watchdog_ = std::chrono::microseconds{*interval} / 2;

  // A path, or "@" for a zero byte, which begins a name that is in no file system.
  const bool usable = address_.starts_with('/') || address_.starts_with('@');
  if (!usable || address_.size() >= sizeof(sockaddr_un::sun_path)) {
    watchdog_.reset();
    return;
  }
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::status(std::string_view text) const noexcept {
  if (socket_ < 0) return;
  try {
    tell("STATUS=" + printable(text));  // a new line would begin another assignment
  } catch (...) {                       // NOLINT(bugprone-empty-catch): out of memory: then not
  }
}

void ServiceManager::tell(std::string_view state) const noexcept {
  if (socket_ < 0) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  ::sendto(socket_, state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size()));
}

}  // namespace simba::cli
