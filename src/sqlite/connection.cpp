#include "sqlite/connection.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/fork/fork_count.hpp"

namespace simba::sqlite {
namespace {

using std::chrono::milliseconds;

Error cannot_open(const std::filesystem::path& path, std::string_view detail) {
  std::error_code ignored;
  const auto folder = path.parent_path();
  if (!std::filesystem::exists(folder, ignored)) {
    return Error{
        ErrorKind::configuration,
        fmt::format("SQLite store: cannot create {}: directory {} does not exist; create it, or "
                    "use another path",
                    path.string(), folder.string())};
  }
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{ErrorKind::configuration,
                 fmt::format("SQLite store: {} is a directory; use a file in it", path.string())};
  }
  return Error{
      ErrorKind::permission,
      fmt::format("SQLite store: cannot open {} ({}); this user must be able to read and write the "
                  "file and its directory {}",
                  path.string(), detail, folder.string())};
}

Error error_of(int code, int system_error, const std::filesystem::path& path,
               std::string_view detail) {
  const auto text = [&](std::string_view what) {
    return fmt::format("SQLite store: {}: {} ({})", path.string(), what, detail);
  };
  switch (code & 0xFF) {  // NOLINT(hicpp-signed-bitwise)
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{
          ErrorKind::unavailable,
          text("timed out because another process keeps the database locked; is it paused?")};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Error{ErrorKind::permission,
                   text("cannot write; this user must be able to write the file and its "
                        "directory")};
    case SQLITE_CANTOPEN:
      return system_error == EMFILE || system_error == ENFILE || system_error == ENOMEM
                 ? Error{ErrorKind::unavailable,
                         text("too many open files; raise the limit (ulimit -n)")}
                 : cannot_open(path, detail);
    case SQLITE_FULL:
      return Error{ErrorKind::unavailable, text("the disk is full; free some space")};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error{ErrorKind::configuration,
                   text("not an SQLite database, or damaged; restore it, or move it away while no "
                        "process uses it, and a new one will be created")};
    case SQLITE_IOERR:
      return Error{ErrorKind::unavailable, text("the disk or file system reports an error")};
    case SQLITE_PROTOCOL:
      return Error{
          ErrorKind::unavailable,
          text("timed out because another process keeps the index of the write-ahead log locked; "
               "is it paused? No user but those who contend should be able to open the files")};
    case SQLITE_INTERRUPT:
    case SQLITE_NOMEM:
      return Error{ErrorKind::unavailable, text("interrupted or out of memory")};
    default:
      return Error{ErrorKind::internal, text("unexpected result from SQLite")};
  }
}

}  // namespace

// ---- Connection::Call ----------------------------------------------------------------------

/// Tells what SQLite does on this thread for which connection. Where the index of the write-ahead
/// log is locked while it has to be rebuilt, SQLite tries again a hundred times, sleeping in
/// between, for ten seconds in all, without asking the busy handler. So that this ends at the
/// deadline, too, its sleep is ours, which by then no longer sleeps.
///
/// This is global because SQLite's list of file systems is.
class Connection::Call {
 public:
  explicit Call(const Connection& connection) noexcept
      : before_{std::exchange(current, &connection)} {}
  ~Call() { current = before_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// The name of SQLite's usual file system with our sleep; null, the default, where a build of
  /// SQLite has no such one.
  static const char* file_system() {
    static const char* const name = []() -> const char* {
      const sqlite3_vfs* const usual = ::sqlite3_vfs_find("unix");
      if (usual == nullptr) return nullptr;
      static sqlite3_vfs ours = *usual;
      ours.pNext = nullptr;
      ours.zName = "simba";
      ours.xSleep = &Call::sleep;
      ::sqlite3_vfs_register(&ours, 0);
      return ours.zName;
    }();
    return name;
  }

 private:
  static int sleep(sqlite3_vfs* /*files*/, int microseconds) noexcept {
    if (current == nullptr) return ::sqlite3_sleep((microseconds + 999) / 1'000) * 1'000;
    current->pause(std::chrono::microseconds{microseconds});
    return microseconds;
  }

  static thread_local const Connection* current;

  const Connection* const before_;
};

constinit thread_local const Connection* Connection::Call::current = nullptr;

// ---- Statement -----------------------------------------------------------------------------

Statement::Statement(Connection& connection, const char* sql) : connection_{connection} {
  sqlite3_stmt* statement = nullptr;
  const Connection::Call call{connection};
  const int code = ::sqlite3_prepare_v3(connection.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT,
                                        &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) connection.fail(code);
}

Statement& Statement::bind(int parameter, std::string_view text) {
  const int code = ::sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8);  // NOLINT
  if (code != SQLITE_OK) connection_.fail(code);
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t number) {
  const int code = ::sqlite3_bind_int64(statement_.get(), parameter, number);
  if (code != SQLITE_OK) connection_.fail(code);
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  const int code = ::sqlite3_bind_null(statement_.get(), parameter);
  if (code != SQLITE_OK) connection_.fail(code);
  return *this;
}

bool Statement::step() {
  const Connection::Call call{connection_};
  const int code = ::sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  reset();
  if (code != SQLITE_DONE) connection_.fail(code);
  return false;
}

void Statement::reset() noexcept { ::sqlite3_reset(statement_.get()); }

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text(int column) const {
  const auto* value = ::sqlite3_column_text(statement_.get(), column);
  if (value == nullptr) return {};
  const auto size = ::sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(value), static_cast<std::size_t>(size)};  // NOLINT
}

std::int64_t Statement::number(int column) const {
  return ::sqlite3_column_int64(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

bool Statement::is_number(int column) const {
  return ::sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}

bool Statement::is_text(int column) const {
  return ::sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT;
}

// ---- OpenInThisProcess ---------------------------------------------------------------------

namespace {

constinit std::atomic<std::uint64_t> open_databases{0};
constinit std::atomic<std::uint64_t> forks_when_opened{0};

}  // namespace

OpenInThisProcess::OpenInThisProcess() {
  const std::uint64_t forks = detail::fork_count();
  if (open_databases != 0 && forks_when_opened != forks) {
    throw IllegalStateError{
        "SQLite store: this process was forked while its parent had a database open, so SQLite "
        "cannot lock files here; fork before creating the factory, or call exec() after fork()"};
  }
  forks_when_opened = forks;
  ++open_databases;
}

OpenInThisProcess::~OpenInThisProcess() { --open_databases; }

// ---- Connection ----------------------------------------------------------------------------

Connection::Connection(std::filesystem::path path, LocalTime deadline, const sql::Wakeup& closing)
    : path_{std::move(path)}, closing_{closing}, deadline_{deadline} {
  sqlite3* handle = nullptr;
  // Used by one thread at a time, so SQLite needs no lock of its own.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;  // NOLINT(hicpp-signed-bitwise)
  const Call call{*this};
  const int code = ::sqlite3_open_v2(path_.c_str(), &handle, flags, Call::file_system());
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  ::sqlite3_busy_handler(handle, &Connection::busy, this);
  // Whoever wrote the file does not decide what runs here.
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

void Connection::check_place() {
  int moved = 0;
  ::sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return;
  sound_ = false;
  throw Error{ErrorKind::unavailable,
              fmt::format("SQLite store: {} was moved or deleted while in use; reopening it",
                          path_.string())};
}

void Connection::fail(int code) {
  switch (code & 0xFF) {  // NOLINT(hicpp-signed-bitwise)
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
      break;
    default:
      sound_ = false;
  }
  const char* detail = handle_ ? ::sqlite3_errmsg(handle_.get()) : ::sqlite3_errstr(code);
  const int system_error = handle_ ? ::sqlite3_system_errno(handle_.get()) : 0;
  throw Error{error_of(code, system_error, path_, detail)};
}

void Connection::execute(const char* sql) {
  const Call call{*this};
  const int code = ::sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

/// Called by SQLite while another process is in the way; zero gives up.
int Connection::busy(void* self, int attempt) noexcept {
  const auto& connection = *static_cast<const Connection*>(self);
  return connection.pause(milliseconds{attempt < 4 ? 1 : 1 + attempt % 4}) ? 1 : 0;
}

bool Connection::pause(std::chrono::nanoseconds span) const noexcept {
  const LocalTime now = sql::real_now();
  return now < deadline_ &&
         sql::wait_for(closing_, std::min(now + span, deadline_)) != sql::Waited::woken;
}

// Two processes that switch a fresh database at the same moment can both be told that it is locked,
// without any wait: SQLite sees a deadlock there. Trying again helps.
void Connection::use_write_ahead_log() {
  for (;;) {
    try {
      Statement statement{*this, "PRAGMA journal_mode = WAL"};
      const std::string mode = statement.step() ? statement.text(0) : std::string{};
      statement.reset();
      if (mode == "wal") return;
      throw Error{
          ErrorKind::unsupported,
          fmt::format("SQLite store: {}: the file system does not support write-ahead logging "
                      "(journal mode remains '{}'); use a local file system",
                      path_.string(), mode)};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable || sql::real_now() >= deadline_) throw;
    }
    if (sql::wait_for(closing_, sql::real_now() + milliseconds{2}) == sql::Waited::woken) {
      throw Error{ErrorKind::unavailable, "the store is being closed"};
    }
  }
}

// ---- Transaction ---------------------------------------------------------------------------

bool has_row(Connection& connection, const char* query) {
  Statement statement{connection, query};
  const bool found = statement.step();
  statement.reset();
  return found;
}

Transaction::Transaction(Connection& connection) : connection_{connection} {
  connection_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (connection_.in_transaction()) {
    ::sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() { connection_.execute("COMMIT"); }

}  // namespace simba::sqlite
