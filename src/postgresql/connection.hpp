#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "postgresql/errors.hpp"
#include "postgresql/settings.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/time.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::postgresql {

struct ResultDeleter {
  void operator()(pg_result* result) const noexcept;
};
using Result = std::unique_ptr<pg_result, ResultDeleter>;

/// A parameter of a statement in text form; empty: NULL.
using Parameter = std::optional<std::string>;

/// One connection to a server, never blocking but for the resolution of a name. What takes time is
/// done in steps that wait until a moment or a wakeup and may be continued by the same call.
///
/// Throws `Error`; the connection is broken after any but a refusal of a statement.
/// A forked child lets go of it without a word to the server, which still serves the parent.
///
/// Threads: used by one thread at a time.
class Connection {
 public:
  /// Begins to connect.
  explicit Connection(std::shared_ptr<const ConnectSettings> settings);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Connects. Throws where that takes too long or the wakeup is raised.
  void open(LocalTime deadline, const sql::Wakeup& closing);

  /// Carries out a statement. Without an answer in time, or where the wakeup is raised, it throws,
  /// and the connection is broken, since the answer may still come.
  Result run(const char* statement, std::span<const Parameter> parameters, LocalTime deadline,
             const sql::Wakeup& closing);
  Result finish(LocalTime deadline, const sql::Wakeup& closing);

  /// Goes on connecting. `ready`: connected.
  sql::Waited connect(LocalTime until, const sql::Wakeup& wakeup);

  /// Connecting took too long: the next attempt begins with another host than this one did.
  void pass_over_host() const noexcept { settings_->pass_over(first_host_); }

  /// Begins a statement. All answers of the one before must have been taken.
  void send(const char* statement, std::span<const Parameter> parameters);

  /// Begins to prepare a statement under a name, or to carry out the one of that name.
  void send_prepare(const char* name, const char* statement);
  void send_prepared(const char* name, std::span<const Parameter> parameters);

  /// Continues the statement. `ready`: carried out and committed, `take_result()` has the
  /// answer. Throws where the server refused.
  sql::Waited receive(LocalTime until, const sql::Wakeup& wakeup);
  Result take_result() noexcept { return std::move(result_); }

  /// Waits for notifications. `ready`: something came, perhaps a notification.
  sql::Waited listen(LocalTime until, const sql::Wakeup& wakeup);

  /// The payloads of the notifications that have come.
  std::vector<std::string> take_notifications();

  /// False once broken. Reads what has come meanwhile, so it notices also what happened while idle.
  bool usable() noexcept;

  /// Breaks it.
  void close() noexcept;

  const std::string& database_name() const noexcept { return settings_->name(); }
  bool pooled() const noexcept { return settings_->pooled(); }
  const pg_conn* handle() const noexcept { return connection_; }

 private:
  void check_open() const;
  void begin_statement();
  void check_sent(int sent);
  template <typename AnyError>
  [[noreturn]] void fail(const AnyError& error);
  [[noreturn]] void lose();
  bool flush_or_wait(short& events);
  void keep(Result result);
  void check_amount(std::uint64_t most);
  void refuse_amount(std::uint64_t most);
  template <typename Read>
  auto guarded(Read read, std::uint64_t most);
  void check_password();

  const std::shared_ptr<const ConnectSettings> settings_;
  const std::size_t first_host_;
  const ForkGuard fork_guard_{};
  pg_conn* connection_ = nullptr;
  bool connected_ = false;
  short wanted_;  ///< what connecting waits for, for poll()
  Result result_{};
  std::optional<Refusal> refused_{};
  int results_ = 0;
  bool has_read_ = false;        // some of the answer
  std::uint64_t accounted_ = 0;  ///< of the bytes that have come: before this statement, or of use
};

}  // namespace simba::postgresql
