#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mysql/errors.hpp"
#include "mysql/settings.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/time.hpp"
#include "sql/workers/wakeup.hpp"

struct st_mysql;
struct st_mysql_res;

namespace simba::mysql {

/// What one statement answered.
struct StatementResult {
  using Value = std::optional<std::string>;  ///< empty: NULL
  std::uint64_t affected = 0;                ///< rows, where it has no columns
  std::size_t columns = 0;
  std::vector<std::vector<Value>> rows{};
};

/// What a text of several statements answered: the results of those carried out, and why the next
/// was not.
struct Reply {
  std::vector<StatementResult> results{};
  std::optional<Refusal> refusal{};
};

/// One connection of the client library, used without blocking: an operation is begun, and gone on
/// with whenever the descriptor is ready. What blocks nevertheless, because the library does: name
/// resolution, and a TLS handshake, for the connect timeout in whole seconds at most. Local files
/// are never sent, and passwords never in clear text.
///
/// Threads: one at a time, not always the same.
class Connection {
 public:
  /// `settings` outlives it. Throws Error where the library lacks memory or a TLS file is unusable.
  explicit Connection(const Settings& settings);

  /// Never waits for the server.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin_connect();
  void begin_query(std::string_view text);

  /// An operation was begun and is not finished.
  bool busy() const noexcept { return operation_ != Operation::none; }

  int descriptor() const noexcept;
  short events() const noexcept;  ///< of poll(), that the operation waits for

  /// When the library wants to be called although nothing happened.
  LocalTime due() const noexcept { return due_; }

  /// Goes on with the operation. `ready` are events of poll(); 0: none, but `due()` may have
  /// passed.
  void go_on(short ready);

  /// The outcome of the operation that was finished last.
  Reply take_reply();

  /// Carries an operation that was begun through. Throws `timeout` at the deadline and
  /// `unavailable` when woken, and is broken then; what the server refuses is in the reply.
  Reply finish(LocalTime deadline, const sql::Wakeup& closing);

  /// True where a finished connect is encrypted.
  bool encrypted() const noexcept;
  bool mariadb() const noexcept;

  /// The number of the connection, as whoever answered the log-in gave it.
  std::uint64_t number() const noexcept;

  /// Looks at an idle connection: false where it was closed or has data that nobody asked for.
  bool alive() const noexcept;

  /// It was found to be of no use: closing it says no good-bye.
  void give_up() noexcept { broken_ = true; }

 private:
  enum class Operation { none, connect, query, store, next };

  void advance(int waiting_for);
  int resume(int ready);
  int after_step();
  int after_store();
  void done() noexcept;
  void fail();
  void prepare_socket() noexcept;
  void unwind() noexcept;
  bool encrypts() const noexcept { return settings_.options.tls.mode != TlsMode::off; }

  const Settings& settings_;
  const ForkGuard fork_{};
  st_mysql* mysql_ = nullptr;
  Operation operation_ = Operation::none;
  int waiting_for_ = 0;  // MYSQL_WAIT_...
  LocalTime due_ = never;
  int prepared_ = -1;  // the socket that was made ready
  bool connected_ = false;
  bool broken_ = false;
  std::string text_{};
  Reply reply_{};

  // Where the library puts what a step answers.
  st_mysql* connect_answer_ = nullptr;
  int answer_ = 0;
  st_mysql_res* stored_ = nullptr;
};

}  // namespace simba::mysql
