#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "support/location.hpp"

namespace simba::support {

enum class Tls {
  off,
  on,          ///< required over TCP; the certificate names localhost and 127.0.0.1
  other_host,  ///< the same, but the certificate names another host
};

struct ServerOptions {
  std::string product;  ///< see make_product in supervisor/product.hpp
  Tls tls = Tls::off;
  std::vector<std::string> arguments{};  ///< added to the server's command line
};

/// A real server, thrown away at the end: on a free loopback port, in a folder simba-test-... of
/// `temporary_root()`, and not as root.
///
/// A supervisor, a process of its own, holds the server and ends it when this object or the process
/// that made it is gone, however that happens; then it removes the folder.
///
/// The constructor returns when the server answers. All functions return when their effect is there
/// and throw std::runtime_error, with the end of the server's log, where it does not come.
///
/// Threads: used by one thread at a time. A forked child must not use it; destroying it there does
/// nothing.
class Server {
 public:
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const Location& location() const noexcept { return location_; }
  std::uint16_t port() const noexcept { return location_.port; }

  /// Starts it again, on the same port and data. Nothing happens while it runs.
  void start() { command("start"); }

  /// Shuts it down as an administrator would, without waiting for clients.
  void stop() { command("stop"); }

  /// Kills it and all its processes at once.
  void kill() { command("kill"); }

  /// `stop` and `start`.
  void restart() {
    stop();
    start();
  }

  /// Nothing of it runs until `resume`; connections stay open and new ones are not answered.
  void pause() { command("pause"); }
  void resume() { command("resume"); }

  /// What the server has written to its log.
  std::string log();

 private:
  std::string command(std::string_view text);

  const pid_t maker_;
  int channel_ = -1;
  std::string log_file_;
  Location location_;
};

}  // namespace simba::support
