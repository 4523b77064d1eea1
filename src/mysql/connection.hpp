#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mysql/errors.hpp"
#include "mysql/settings.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/time.hpp"
#include "sql/workers/poll_wait.hpp"

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

/// How much the library may still read before it gives us something: a step of an operation.
struct Allowance {
  std::size_t left = 0;   ///< in bytes
  bool exceeded = false;  ///< the connection was cut
};

/// One connection of the client library. An operation is begun, then finished with a deadline and a
/// wakeup that ends it. What blocks nevertheless, because the library does, is name resolution.
/// Local files are never sent.
///
/// An answer that is far larger than any table of mutexes is refused, and so is a row of more than
/// 16 MiB, and a log-in or the descriptions of columns of more than a MiB: what is read is counted,
/// and the connection is cut while the library still reads.
///
/// Where TLS is required a server that does not offer it is sent nothing: its greeting is looked at
/// before the library reads it, which would log in all the same. Only a server that is trusted
/// (see Settings) can ask for the password; to others the library proves that it knows it.
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

  /// Throws Error where there are no credentials to be had.
  void begin_connect();
  void begin_query(std::string_view text);

  /// Carries an operation that was begun through. Throws `timeout` at the deadline and
  /// `unavailable` when woken, and is broken then; what the server refuses is in the reply.
  Reply finish(LocalTime deadline, const sql::Wakeup& closing);

  bool mariadb() const noexcept;

  /// The number of the connection, as the other end has said when it greeted.
  std::uint64_t number() const noexcept;

  /// Looks at an idle connection: false where it was closed or has data that nobody asked for.
  bool alive() const noexcept;

  /// The server has got a statement that it did not answer in time: it may go on with it, whatever
  /// happens to the connection. One that has not even confirmed what it was sent does not count.
  bool left_behind() const noexcept { return left_behind_; }

  /// It was found to be of no use: closing it says no good-bye.
  void give_up() noexcept { broken_ = true; }

 private:
  enum class Operation { none, connect, query, fetch, next };

  bool busy() const noexcept { return operation_ != Operation::none; }
  int descriptor() const noexcept;
  short events() const noexcept;  // of poll(), that the operation waits for
  void go_on(int occurred, LocalTime deadline, const sql::Wakeup& closing);
  bool may_read_greeting();
  void refuse_connect();
  void advance(int waiting_for);
  int resume(int ready);
  int after_step();
  int begin_result();
  int begin_row();
  int after_row();
  int end_result();
  void refuse_answer();
  void done() noexcept;
  void fail();
  Error time_out() const;
  void prepare_socket() noexcept;
  void unwind() noexcept;
  void leave_behind() noexcept;
  bool encrypts() const noexcept { return uses_tls(settings_.options.tls.mode); }

  const Settings& settings_;
  const ForkGuard fork_{};
  st_mysql* mysql_ = nullptr;
  Credentials credentials_{};  // used while it connects
  Operation operation_ = Operation::none;
  int waiting_for_ = 0;            // MYSQL_WAIT_...
  LocalTime due_ = never;          // when the library wants to be called although nothing happened
  int prepared_ = -1;              // the socket that was made ready
  bool greeted_ = false;           // the library may read the greeting
  bool awaits_greeting_ = false;   // connected, and none has come
  std::size_t greeting_size_ = 0;  // how much of it was there when it was looked at last
  bool connected_ = false;
  bool broken_ = false;
  bool left_behind_ = false;
  std::string text_{};
  Reply reply_{};

  // Where the library puts what a step answers.
  st_mysql* connect_answer_ = nullptr;
  int answer_ = 0;
  st_mysql_res* rows_ = nullptr;
  char** row_ = nullptr;
  StatementResult result_{};
  std::size_t answer_size_ = 0;  // of all results so far, in memory
  Allowance allowance_{};
};

}  // namespace simba::mysql
