#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace simba::cli {

/// What systemd wants to hear of a unit with Type=notify, over the socket that NOTIFY_SOCKET names.
/// Without that variable no function does anything. Nobody waits for systemd: what its socket does
/// not take at once is lost.
///
/// Threads: made before any thread, as it takes its variables out of the environment: they are not
/// meant for what we start. Then every function may be called from any thread.
class ServiceManager {
 public:
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  /// What `systemctl status` shows.
  void status(std::string_view text) const noexcept;

  void ready() const noexcept { tell("READY=1"); }
  void stopping() const noexcept { tell("STOPPING=1"); }
  void alive() const noexcept { tell("WATCHDOG=1"); }

  /// How often to call `alive` at least; nothing: never (no WatchdogSec= in the unit).
  std::optional<std::chrono::nanoseconds> watchdog() const noexcept { return watchdog_; }

 private:
  void tell(std::string_view state) const noexcept;

  std::string address_;
  std::optional<std::chrono::nanoseconds> watchdog_;
  int socket_ = -1;
};

}  // namespace simba::cli
