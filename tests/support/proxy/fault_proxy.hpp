#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace simba::support {

/// A TCP proxy that loses, delays and cuts as told. Without faults it passes everything on.
///
/// Threads: every function may be called from any thread at the same time. It has one thread of its
/// own. A fault is in force when the call that asks for it returns.
class FaultProxy {
 public:
  /// Listens on a free port of 127.0.0.1. Throws std::system_error.
  FaultProxy(std::string host, std::uint16_t port);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  std::uint16_t port() const noexcept;

  /// Nothing moves either way. Connections stay open and new ones are accepted. What was sent
  /// meanwhile arrives after `mend`.
  void black_hole();

  /// Resets all connections and refuses new ones.
  void cut();

  /// Resets all connections; new ones work.
  void reset_all();

  /// Of the connections that are open now, the next request goes through, and in place of its reply
  /// the connection is reset. The others stay.
  void cut_next_reply();

  /// After `bytes` more bytes to the server, the connection that sent the last of them is reset;
  /// what it sent beyond them is lost. The others stay.
  void cut_after_bytes(std::uint64_t bytes);

  /// What comes in from now on is passed on this much later.
  void delay(std::chrono::milliseconds one_way);

  /// Ends all faults, the delay too.
  void mend();

  struct Counters {
    std::uint64_t connections = 0;  ///< accepted so far
    std::uint64_t open = 0;         ///< now
    std::uint64_t requests = 0;     ///< pieces read from clients; small messages are one each
    std::uint64_t bytes_to_server = 0;
    std::uint64_t bytes_to_client = 0;
    std::uint64_t cuts = 0;  ///< by `cut_next_reply` and `cut_after_bytes`
  };
  Counters counters() const;

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace simba::support
