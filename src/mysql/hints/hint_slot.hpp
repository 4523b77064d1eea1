#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mysql/connection.hpp"
#include "mysql/server.hpp"

namespace simba::mysql {

/// One connection that waits inside the server for the release of one mutex. Nothing blocks: it is
/// driven by calls of `go_on` whenever its descriptor is ready or it is due.
///
/// Threads: one.
class HintSlot {
 public:
  explicit HintSlot(std::shared_ptr<Server> server) : server_{std::move(server)} {}
  ~HintSlot() { close(); }
  HintSlot(const HintSlot&) = delete;
  HintSlot& operator=(const HintSlot&) = delete;

  /// Begins a round: what it waits for next; empty: for nothing. A wait under way goes on until it
  /// ends by itself, within two seconds.
  void aim(std::string mutex);
  const std::string& aimed_at() const noexcept { return aim_; }

  /// The mutex that it waits for now, or empty.
  const std::string& waits_for() const noexcept { return waits_for_; }

  int descriptor() const noexcept;
  short events() const noexcept;
  LocalTime due() const noexcept;

  /// Does what is to be done now. Answers with the mutex that was released. Throws std::bad_alloc.
  std::optional<std::string> go_on(short ready, LocalTime now);

 private:
  bool is_idle() const noexcept { return connection_ && connected_ && !connection_->busy(); }
  bool wants_to_wait() const noexcept;
  void connect(LocalTime now);
  void begin(LocalTime now);
  std::optional<std::string> finished(LocalTime now);
  void fail(const std::string& why, LocalTime now);
  void close() noexcept;

  const std::shared_ptr<Server> server_;
  std::unique_ptr<Connection> connection_;
  bool connected_ = false;
  bool unlimited_ = false;       // statements of this connection have no limit of time
  std::string aim_;              // what to wait for
  std::string waits_for_;        // what the statement under way waits for
  std::string locked_;           // whose named lock this connection may hold
  std::uint64_t session_ = 0;    // the serial of that whose lock the statement under way waits for
  std::size_t before_wait_ = 0;  // statements that come before it in the same text
  LocalTime begun_{};            // the operation under way
  LocalTime overdue_ = never;    // when it counts as failed
  int rests_for_ = 0;            // rounds
  LocalTime not_before_{};       // of the next attempt
  std::chrono::milliseconds pause_{0};
};

}  // namespace simba::mysql
