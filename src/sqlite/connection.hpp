#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include "simba/core/error.hpp"
#include "simba/core/time.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::sqlite {

class Connection;

/// A prepared statement. Its parameters count from 1, its columns from 0.
class Statement {
 public:
  Statement(Connection& connection, const char* sql);

  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, std::int64_t number);
  Statement& bind_null(int parameter);

  /// Goes to the next row; false: there is none, and the statement is ready to be used again.
  bool step();

  /// Ready to be used again.
  void reset() noexcept;

  /// Runs to the end.
  void run();

  std::string text(int column) const;
  std::int64_t number(int column) const;

  bool is_null(int column) const;

  /// Whether the column holds a whole number, and not something that can be turned into one.
  bool is_number(int column) const;

  /// The same for text: a blob of the same bytes is none, and equals none.
  bool is_text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
  };

  Connection& connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// Counts the open databases of this process. SQLite keeps the locks of a process in its memory,
/// where a forked child takes its parent's for its own, although the kernel has not given them to
/// it. So a child of a process that had a database open must open none.
///
/// This is global because what it protects against is.
class OpenInThisProcess {
 public:
  /// Throws IllegalStateError in such a child.
  OpenInThisProcess();
  ~OpenInThisProcess();
  OpenInThisProcess(const OpenInThisProcess&) = delete;
  OpenInThisProcess& operator=(const OpenInThisProcess&) = delete;
};

/// An open database. What goes wrong is thrown as `Error` that names the file and what to do.
///
/// While another process holds the database it waits until the deadline, or until `closing` is
/// raised.
class Connection {
 public:
  Connection(std::filesystem::path path, LocalTime deadline, const sql::Wakeup& closing);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void set_deadline(LocalTime deadline) noexcept { deadline_ = deadline; }

  /// Runs statements without parameters and rows.
  void execute(const char* sql);

  /// Switches to a write-ahead log, if it is not on yet.
  void use_write_ahead_log();

  bool in_transaction() const noexcept { return ::sqlite3_get_autocommit(handle_.get()) == 0; }

  sqlite3* handle() const noexcept { return handle_.get(); }
  const std::filesystem::path& path() const noexcept { return path_; }

  /// False after an error that a new connection may get over, and once the file is no longer the
  /// one at the path: what is written to it then is seen by nobody.
  bool is_sound() const noexcept { return sound_; }

  /// Throws where the file is no longer the one at the path.
  void check_place();

  [[noreturn]] void fail(int code);

 private:
  friend class Statement;
  class Call;

  struct Close {
    void operator()(sqlite3* handle) const noexcept { ::sqlite3_close_v2(handle); }
  };

  static int busy(void* self, int attempt) noexcept;

  /// False: the deadline has passed, or the database is being closed.
  bool pause(std::chrono::nanoseconds span) const noexcept;

  const OpenInThisProcess open_;
  const std::filesystem::path path_;
  const sql::Wakeup& closing_;
  LocalTime deadline_;
  bool sound_ = true;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Whether a query without parameters finds anything.
bool has_row(Connection& connection, const char* query);

/// `BEGIN IMMEDIATE`; rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void commit();

 private:
  Connection& connection_;
};

}  // namespace simba::sqlite
