// The MySQL store on MariaDB against the bare client library: acquire + release one after the
// other, hand-over between processes, and what 1,000 waiters cost.
#include <memory>
#include <mysql.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "mysql/statements.hpp"
#include "simba/mysql/mysql_factory.hpp"
#include "sql_bench.hpp"
#include "support/servers.hpp"

namespace simba::bench {
namespace {

/// A blocking connection of the client library.
class Raw {
 public:
  explicit Raw(const support::Location& at) : connection_{mysql_init(nullptr), &mysql_close} {
    const my_bool no = 0;  // else version 3.4 insists on TLS
    mysql_optionsv(connection_.get(), MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
    if (mysql_real_connect(connection_.get(), at.host.c_str(), at.user.c_str(), at.password.c_str(),
                           at.database.c_str(), at.port, nullptr,
                           CLIENT_MULTI_STATEMENTS) == nullptr) {
      throw std::runtime_error{mysql_error(connection_.get())};
    }
    execute(mysql::statements::set_up(true, false, 2500ms));
  }

  void acquire_and_release(int rounds) {
    const std::vector<sql::Ask> asks{
        {.mutex = "raw", .contender_id = "me", .ttl = 10s, .transition = 6s}};
    execute(mysql::statements::init("raw"));
    for (int i = 0; i < rounds; ++i) {
      execute(mysql::statements::change(sql::Change::acquire, asks));
      execute(mysql::statements::change(sql::Change::release, asks));
    }
  }

  /// Runs all statements of a text; the first value of the last result, or empty.
  std::string execute(const std::string& sql) {
    std::string value;
    if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) fail();
    for (;;) {
      if (MYSQL_RES* result = mysql_store_result(connection_.get())) {
        if (MYSQL_ROW row = mysql_fetch_row(result)) {
          const unsigned last = mysql_num_fields(result) - 1;
          value = row[last] != nullptr ? row[last] : "";
        }
        mysql_free_result(result);
      }
      const int next = mysql_next_result(connection_.get());
      if (next > 0) fail();
      if (next < 0) return value;
    }
  }

 private:
  [[noreturn]] void fail() { throw std::runtime_error{mysql_error(connection_.get())}; }

  std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection_;
};

int run() {
  pin_to_core(0);
  const support::MariaDbServer server;
  unpin();
  const auto at = server.location();
  SqlProduct product;
  product.name = "MariaDB";
  product.make_factory = [&](const engine::ContentionOptions& options) {
    return mysql::make_mysql_factory({.host = at.host,
                                      .port = at.port,
                                      .user = at.user,
                                      .password = Secret{at.password},
                                      .database = at.database,
                                      .sql = {.contention = options}});
  };
  Figures figures;
  figures.at_most("MariaDB: hand-over between processes, p50", hand_over_milliseconds(product), 100,
                  "ms");
  Raw raw{at};
  product.raw = [&](int rounds) { raw.acquire_and_release(rounds); };
  product.occupy = [&](int count) {
    for (int i = 0; i < count; ++i) {
      raw.execute("INSERT INTO simba_mutex VALUES ('mutex-" + std::to_string(i) +
                  "', 0, 4102444800000, 4102444800000, 'another', 1)");
    }
  };
  product.connections = [&] {
    return std::stod(
        raw.execute("SELECT count(*) FROM information_schema.processlist "
                    "WHERE user = 'simba' AND id <> connection_id()"));
  };
  product.statements = [&] {
    return std::stod(raw.execute("SHOW GLOBAL STATUS LIKE 'Questions'"));
  };
  serial_figure(product, figures);
  waiters_figures(product, figures);
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
