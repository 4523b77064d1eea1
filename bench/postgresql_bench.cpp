// The PostgreSQL store against bare libpq: acquire + release one after the other, hand-over between
// processes, and what 1,000 waiters cost.
#include <array>
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <string>

#include "postgresql/statements.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "sql_bench.hpp"
#include "support/servers.hpp"

namespace simba::bench {
namespace {

/// A blocking connection of libpq.
class Raw {
 public:
  explicit Raw(const support::Location& at)
      : connection_{PQsetdbLogin(at.host.c_str(), std::to_string(at.port).c_str(), nullptr, nullptr,
                                 at.database.c_str(), at.user.c_str(), at.password.c_str()),
                    &PQfinish} {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error{PQerrorMessage(connection_.get())};
    }
    using namespace postgresql::statements;
    prepare("acquire", on_table(acquire, "simba_mutex"));
    prepare("release", on_table(release, "simba_mutex"));
  }

  void acquire_and_release(int rounds) {
    constexpr std::array<const char*, 6> acquire{"{raw}", "{me}", "10000",
                                                 "6000",  "1000", "{NULL}"};
    constexpr std::array<const char*, 4> release{"{raw}", "{me}", "{NULL}", "1000"};
    for (int i = 0; i < rounds; ++i) {
      check(PQexecPrepared(connection_.get(), "acquire", 6, acquire.data(), nullptr, nullptr, 0));
      check(PQexecPrepared(connection_.get(), "release", 4, release.data(), nullptr, nullptr, 0));
    }
  }

  void execute(const std::string& sql) { check(PQexec(connection_.get(), sql.c_str())); }

  double number(const std::string& sql) {
    PGresult* result = PQexec(connection_.get(), sql.c_str());
    const double value = std::stod(PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
  }

 private:
  void prepare(const char* name, const std::string& sql) {
    check(PQprepare(connection_.get(), name, sql.c_str(), 0, nullptr));
  }

  void check(PGresult* result) {
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error{PQerrorMessage(connection_.get())};
    }
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

int run() {
  pin_to_core(0);
  const support::PostgreSqlServer server;
  unpin();
  const auto at = server.location();
  SqlProduct product;
  product.name = "PostgreSQL";
  product.make_factory = [&](const ContentionOptions& options) {
    return postgresql::make_postgresql_factory({.host = at.host,
                                                .port = at.port,
                                                .user = at.user,
                                                .password = Secret{at.password},
                                                .database = at.database,
                                                .sql = {.contention = options}});
  };
  Figures figures;
  figures.at_most("PostgreSQL: hand-over between processes, p50", hand_over_milliseconds(product),
                  5, "ms");
  Raw raw{at};
  product.raw = [&](int rounds) { raw.acquire_and_release(rounds); };
  product.occupy = [&](int count) {
    raw.execute(
        "INSERT INTO simba_mutex SELECT 'mutex-' || i, 0, 4102444800000, 4102444800000, "
        "'another', 1 FROM generate_series(0, " +
        std::to_string(count - 1) + ") i");
  };
  product.connections = [&] {
    return raw.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'simba'");
  };
  product.statements = [&] {
    raw.execute("SELECT pg_stat_force_next_flush()");
    return raw.number(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = "
        "current_database()");
  };
  serial_figure(product, figures);
  waiters_figures(product, figures);
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
