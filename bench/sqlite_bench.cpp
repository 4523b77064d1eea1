// The SQLite store against the bare library: acquire + release one after the other, hand-over and
// take-over between processes, and what 1,000 waiters cost.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <system_error>

#include "simba/sqlite/sqlite_factory.hpp"
#include "sql_bench.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/statements.hpp"
#include "support/temporary_folder.hpp"

namespace simba::bench {
namespace {

std::atomic<std::uint64_t> statements{0};

/// Counts every statement of every connection of this process.
int count_statements(sqlite3* handle, const char** /*error*/, const sqlite3_api_routines* /*api*/) {
  sqlite3_trace_v2(
      handle, SQLITE_TRACE_STMT,
      [](unsigned, void*, void*, void*) {
        ++statements;
        return 0;
      },
      nullptr);
  return SQLITE_OK;
}

/// What the store does for an acquisition and a release, written down without it.
class Raw {
 public:
  explicit Raw(const std::filesystem::path& path) : connection_{path, never, closing_} {}

  void acquire_and_release(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      look_.bind(1, "raw").run();
      connection_.execute("PRAGMA synchronous = FULL");
      {
        sqlite::Transaction transaction{connection_};
        clock_.bind(1, "boot").run();
        acquire_.bind(1, "raw").bind(2, "me").bind(3, std::int64_t{1}).bind(4, std::int64_t{2});
        acquire_.bind(5, std::int64_t{3}).bind(6, "mark").bind(7, "").run();
        transaction.commit();
      }
      connection_.execute("PRAGMA synchronous = NORMAL");
      sqlite::Transaction transaction{connection_};
      clock_.run();
      release_.bind(1, "raw").bind(2, "me").bind_null(3).run();
      transaction.commit();
    }
  }

 private:
  sql::Wakeup closing_;
  sqlite::Connection connection_;
  sqlite::Statement look_{connection_, sqlite::statements::look};
  sqlite::Statement clock_{connection_, sqlite::statements::clock};
  sqlite::Statement acquire_{connection_, sqlite::statements::acquire};
  sqlite::Statement release_{connection_, sqlite::statements::release};
};

int run() {
  const support::TemporaryFolder folder;
  const auto path = folder.path() / "simba.db";
  const auto make_factory = [&](const ContentionOptions& options) {
    return sqlite::make_sqlite_factory({.path = path, .sql = {.contention = options}});
  };
  std::unique_ptr<Raw> raw;
  SqlProduct product;
  product.name = "SQLite";
  product.make_factory = make_factory;
  product.raw = [&](int rounds) {
    if (!raw) raw = std::make_unique<Raw>(path);
    raw->acquire_and_release(rounds);
  };
  product.occupy = [&](int count) {
    const auto repository = sqlite::make_sqlite_repository({.path = path});
    for (int i = 0; i < count; ++i) {
      repository->acquire("mutex-" + std::to_string(i), "another", 1h, 0ms);
    }
    // Not of a process that is gone, but of one that nobody knows.
    sql::Wakeup closing;
    sqlite::Connection{path, never, closing}.execute("UPDATE simba_mutex SET liveness = ''");
  };
  product.connections = [&] {  // how often the file is open
    double open = 0;
    for (const auto& file : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      std::error_code ignored;
      if (std::filesystem::read_symlink(file, ignored) == path) ++open;
    }
    return open;
  };
  product.statements = [] { return static_cast<double>(statements); };

  Figures figures;
  figures.at_most("SQLite: hand-over between processes, p50", hand_over_milliseconds(product), 5,
                  "ms");
  figures.at_most("SQLite: take-over from a killed process, longest",
                  take_over_milliseconds(product), 100, "ms");
  serial_figure(product, figures);
  raw.reset();
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(&count_statements));
  waiters_figures(product, figures);
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
