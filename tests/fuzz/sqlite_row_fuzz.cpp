// Writes values of any type into a database file, as a stranger could, and lets the store read and
// change them. The input: for each column a letter (n: NULL, i: eight bytes of a number, d: of a
// floating point number, t and b: text and blob after one byte for the length) and the value.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "sql/rows.hpp"
#include "sqlite/database.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sqlite {
namespace {

using fuzz::check;
using std::chrono::milliseconds;

constexpr milliseconds since_boot{1'000'000};

/// One database for all inputs, with one row.
class World {
 public:
  World()
      : database_{std::make_shared<SqliteDatabase>(
            path_, ChildProcesses::ignore, sql::Schema::create, make_null_logger(),
            HostClock{.boot_id = "boot", .since_boot = [] { return since_boot; }})},
        session_{database_->connect(soon(), closing_)} {
    check(::sqlite3_open(path_.c_str(), &stranger_) == SQLITE_OK, "the database opens");
    // What is NULL gets its default.
    execute("PRAGMA synchronous = OFF");
    check(::sqlite3_prepare_v2(stranger_,
                               "INSERT OR REPLACE INTO simba_mutex (mutex, acquired_at, ttl_at, "
                               "transition_at, version, owner_id, liveness) "
                               "VALUES ('m', ?1, ?2, ?3, ?4, ?5, ?6)",
                               -1, &write_, nullptr) == SQLITE_OK,
          "the statement is one");
  }
  ~World() {
    ::sqlite3_finalize(write_);
    ::sqlite3_close(stranger_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void write(std::string_view bytes) {
    for (int column = 1; column <= 6; ++column) bind(column, bytes);
    const int code = ::sqlite3_step(write_);
    ::sqlite3_reset(write_);
    check(code == SQLITE_DONE, "a stranger can write the row");
  }

  sql::Session& session() { return *session_; }
  static LocalTime soon() { return sql::real_now() + std::chrono::seconds{5}; }

 private:
  void execute(const char* sql) {
    check(::sqlite3_exec(stranger_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
  }

  void bind(int column, std::string_view& bytes) {
    const char kind = bytes.empty() ? 'n' : bytes.front();
    bytes.remove_prefix(bytes.empty() ? 0 : 1);
    if (kind == 'i') {
      ::sqlite3_bind_int64(write_, column, fuzz::take_number(bytes));
    } else if (kind == 'd') {
      const std::int64_t bits = fuzz::take_number(bytes);
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      ::sqlite3_bind_double(write_, column, value);
    } else if (kind == 't' || kind == 'b') {
      const std::size_t length =
          bytes.empty() ? 0 : std::min<std::size_t>(static_cast<unsigned char>(bytes.front()), 64);
      bytes.remove_prefix(bytes.empty() ? 0 : 1);
      const std::string value{bytes.substr(0, length)};
      bytes.remove_prefix(std::min(length, bytes.size()));
      const int size = static_cast<int>(value.size());
      if (kind == 't') {
        ::sqlite3_bind_text(write_, column, value.data(), size, SQLITE_TRANSIENT);  // NOLINT
      } else {
        ::sqlite3_bind_blob(write_, column, value.data(), size, SQLITE_TRANSIENT);  // NOLINT
      }
    } else {
      ::sqlite3_bind_null(write_, column);
    }
  }

  const support::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "simba.db";
  const sql::Wakeup closing_;
  const std::shared_ptr<SqliteDatabase> database_;
  const std::unique_ptr<sql::Session> session_;
  sqlite3* stranger_ = nullptr;
  sqlite3_stmt* write_ = nullptr;
};

void check_record(const sql::Row& row) {
  constexpr milliseconds longest = std::chrono::days{365};
  const auto record = sql::record_of(row);
  check(record.ttl_left.count() >= 0 && record.ttl_left <= record.transition_left &&
            record.transition_left <= longest,
        "what is left of a lease is within its bounds");
}

/// The row after a change; an exception other than Error is a find.
std::vector<sql::Row> change(World& world, sql::Change change, const char* contender) {
  const std::array<sql::Ask, 1> asks{
      sql::Ask{.mutex = "m", .contender_id = contender, .ttl = milliseconds{10'000}}};
  try {
    return world.session().change(change, asks, World::soon());
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::configuration || error.kind() == ErrorKind::internal,
          "a row that makes no sense is a fault of the database");
    check(world.session().usable(), "a row that makes no sense costs no connection");
    return {};
  }
}

void run_sqlite_row(std::string_view bytes) {
  static World world;
  world.write(bytes);
  const std::array<std::string, 1> names{"m"};
  sql::Row before;
  try {
    const auto rows = world.session().look(names, World::soon());
    check(rows.size() == 1 && rows.front().mutex == "m", "the row is found");
    before = rows.front();
    check_record(before);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::configuration || error.kind() == ErrorKind::internal,
          "a row that makes no sense is a fault of the database");
  }
  for (const auto& row : change(world, sql::Change::acquire, "me")) {
    check_record(row);
    if (row.owner_id != "me") continue;
    check(row.version > before.version, "a token is greater than all before");
    check(row.now >= row.acquired_at && row.ttl_at - row.acquired_at == 10'000,
          "a lease is as long as was asked for");
  }
  for (const auto& row : change(world, sql::Change::guard, "me")) check_record(row);
  for (const auto& row : change(world, sql::Change::release, "me")) {
    check_record(row);
    check(row.owner_id != "me", "what is released is not owned");
  }
}

}  // namespace
}  // namespace simba::sqlite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::sqlite::run_sqlite_row({reinterpret_cast<const char*>(data), size});
  return 0;
}
