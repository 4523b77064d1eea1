// Lets a stranger lay out a database file, and tools look at it. The input is a line for each step:
//   c<name>\t<type>  simba_mutex is a table of someone else, with this column among others
//   v                simba_mutex is a view
//   -                there is no simba_clock
//   g                a trigger on simba_mutex
//   m<name>          a row that is fine
//   x<name>          a row in which ttl_at is a text
//   b<bytes>         a row whose name is a blob
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#include "simba/sqlite/sqlite_admin.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sqlite {
namespace {

using fuzz::check;

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '\0') continue;
    text += c;
    if (c == '"') text += c;
  }
  return text + '"';
}

/// One file for all inputs.
class HostileFile {
 public:
  HostileFile() {
    make_sqlite_admin({.path = path_}, runtime_)->init();
    check(::sqlite3_open(path_.c_str(), &stranger_) == SQLITE_OK, "the database opens");
    run("PRAGMA synchronous = OFF");
    mutex_table_ = definition_of("simba_mutex");
    clock_table_ = definition_of("simba_clock");
  }
  ~HostileFile() { ::sqlite3_close(stranger_); }
  HostileFile(const HostileFile&) = delete;
  HostileFile& operator=(const HostileFile&) = delete;

  /// Names that must be found.
  std::vector<std::string> lay_out(std::string_view input) {
    std::string columns;
    bool is_view = false;
    bool has_clock = true;
    bool has_trigger = false;
    const auto steps = fuzz::split(input, '\n');
    for (const std::string_view step : steps) {
      const char kind = step.empty() ? ' ' : step.front();
      if (kind == 'c') {
        const auto words = fuzz::split(step.substr(1), '\t');
        columns += (columns.empty() ? "" : ", ") + quoted(words[0]) + ' ' +
                   (words.size() > 1 ? quoted(words[1]) : std::string{});
      }
      is_view = is_view || kind == 'v';
      has_clock = has_clock && kind != '-';
      has_trigger = has_trigger || kind == 'g';
    }
    run("DROP VIEW IF EXISTS simba_mutex");
    run("DROP TABLE IF EXISTS simba_mutex");
    run(has_clock ? clock_table_ : "DROP TABLE IF EXISTS simba_clock");
    if (is_view) {
      run("CREATE VIEW simba_mutex AS SELECT name AS mutex, 1 AS liveness FROM sqlite_master");
    } else {
      run(columns.empty() ? mutex_table_ : "CREATE TABLE simba_mutex (" + columns + ")");
    }
    if (has_trigger) {
      run("CREATE TRIGGER theirs AFTER INSERT ON simba_mutex BEGIN SELECT 1; END");
    }
    std::vector<std::string> good;
    for (const std::string_view step : steps) {
      if (!step.empty() && write_row(step.front(), step.substr(1)) && step.front() == 'm') {
        good.emplace_back(step.substr(1));
      }
    }
    const bool ours = columns.empty() && !is_view && has_clock;
    return ours ? good : std::vector<std::string>{};
  }

  std::unique_ptr<engine::StoreAdmin> make_admin() const {
    return make_sqlite_admin({.path = path_, .sql = {.schema = sql::Schema::expect}}, runtime_);
  }

 private:
  void run(const std::string& sql) {
    ::sqlite3_exec(stranger_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  std::string definition_of(const std::string& table) {
    std::string text;
    ::sqlite3_exec(
        stranger_, ("SELECT sql FROM sqlite_master WHERE name = '" + table + "'").c_str(),
        [](void* to, int /*columns*/, char** values, char** /*names*/) {
          *static_cast<std::string*>(to) = values[0];  // NOLINT
          return 0;
        },
        &text, nullptr);
    check(!text.empty(), "the table has a definition");
    return text;
  }

  bool write_row(char kind, std::string_view name) {
    if (kind != 'm' && kind != 'x' && kind != 'b') return false;
    sqlite3_stmt* write = nullptr;
    const char* const sql = kind == 'x'
                                ? "INSERT INTO simba_mutex (mutex, ttl_at) VALUES (?1, 'soon')"
                                : "INSERT INTO simba_mutex (mutex) VALUES (?1)";
    if (::sqlite3_prepare_v2(stranger_, sql, -1, &write, nullptr) != SQLITE_OK) return false;
    const auto size = static_cast<int>(name.size());
    if (kind == 'b') {
      ::sqlite3_bind_blob(write, 1, name.data(), size, SQLITE_TRANSIENT);  // NOLINT
    } else {
      ::sqlite3_bind_text(write, 1, name.data(), size, SQLITE_TRANSIENT);  // NOLINT
    }
    const int code = ::sqlite3_step(write);
    ::sqlite3_finalize(write);
    return code == SQLITE_DONE;
  }

  const support::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "simba.db";
  const std::shared_ptr<const Runtime> runtime_ = make_runtime({.log = make_null_logger()});
  sqlite3* stranger_ = nullptr;
  std::string mutex_table_;
  std::string clock_table_;
};

void check_listing(engine::StoreAdmin& admin, const std::vector<std::string>& good) {
  std::vector<engine::MutexEntry> entries;
  try {
    entries = admin.list();
  } catch (const Error& error) {
    check(good.empty(), "what a stranger adds to our table hides nothing in it");
    check(!error.is_transient(), "a layout that makes no sense does not pass by itself");
    return;
  }
  for (const std::string& name : good) {
    if (!fuzz::is_utf8(name) || name.find('\0') != std::string::npos) continue;
    check(std::any_of(entries.begin(), entries.end(),
                      [&](const engine::MutexEntry& entry) { return entry.mutex == name; }),
          "a row that is fine is listed");
  }
}

void run_sqlite_inspector(std::string_view input) {
  static HostileFile world;
  const auto good = world.lay_out(input);
  const auto admin = world.make_admin();
  const engine::StoreReport report = admin->examine();
  check(fuzz::prints(report.server), "what the library calls itself can be shown");
  for (const engine::Finding& finding : report.findings) {
    check(fuzz::prints(finding.text) && finding.text.size() <= 2'003, "a finding can be shown");
  }
  check_listing(*admin, good);
}

}  // namespace
}  // namespace simba::sqlite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::sqlite::run_sqlite_inspector({reinterpret_cast<const char*>(data), size});
  return 0;
}
