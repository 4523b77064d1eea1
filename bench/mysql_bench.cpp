// The MySQL store on MariaDB against the bare client library: acquire + release one after the
// other, hand-over between processes, what 1,000 waiters cost, and how much of a core the server
// takes for 2,000 and 10,000 of one process.
#include <fstream>
#include <iterator>
#include <memory>
#include <mysql.h>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
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

/// CPU time that a process has taken so far, of all its threads, in seconds.
double cpu_seconds(const std::string& process) {
  std::ifstream stream{"/proc/" + process + "/stat"};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  text.erase(0, text.rfind(')') + 1);  // the name, which may have anything in it
  std::istringstream words{text};
  std::string skipped;
  for (int field = 3; field < 14; ++field) words >> skipped;
  double user = 0;
  double system = 0;
  if (!(words >> user >> system)) throw std::runtime_error{"no process " + process};
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Owns mutex-0, mutex-1, ... and renews them by the statements of the store, spread evenly over
/// the time after which an owner renews.
class RenewingOwner {
 public:
  RenewingOwner(const support::Location& at, int count) : connection_{at} {
    for (int i = 0; i < count; ++i) {
      if (i % at_once == 0) parts_.emplace_back();
      parts_.back().push_back({.mutex = "mutex-" + std::to_string(i),
                               .contender_id = "another",
                               .ttl = plan_.ttl,
                               .transition = plan_.transition});
    }
    connection_.execute("DELETE FROM simba_mutex WHERE mutex LIKE 'mutex-%'");
    for (const auto& part : parts_) {
      connection_.execute(mysql::statements::insert_and_acquire(part));
    }
    server_thread_ = connection_.execute(
        "SELECT tid FROM information_schema.processlist WHERE id = connection_id()");
    thread_ = std::jthread{[this](const std::stop_token& stop) { renew(stop); }};
  }

  /// Which thread of the server this keeps busy.
  const std::string& server_thread() const { return server_thread_; }

 private:
  static constexpr int at_once = 250;

  void renew(const std::stop_token& stop) {
    const auto pause =
        std::chrono::nanoseconds{plan_.renew_after} / static_cast<std::int64_t>(parts_.size());
    auto next = std::chrono::steady_clock::now();
    for (std::size_t i = 0; !stop.stop_requested(); i = (i + 1) % parts_.size()) {
      connection_.execute(mysql::statements::change(sql::Change::guard, parts_[i]));
      std::this_thread::sleep_until(next += pause);
    }
  }

  const ContentionPlan plan_{{}};
  Raw connection_;
  std::vector<std::vector<sql::Ask>> parts_;
  std::string server_thread_;
  std::jthread thread_;
};

/// Not a matter of the machine's load: CPU time of the server against the time that has passed, for
/// looks and attempts of those who wait. Only what the connection of the owner takes is not
/// counted.
void waiting_figures(const SqlProduct& product, const support::Location& at,
                     const std::string& server, Figures& figures) {
  constexpr auto begun = 40s;     // all have asked, also where the machine was too busy at first
  constexpr auto observed = 40s;  // longer than a lease, after which they would ask again
  for (const int count : {2'000, 10'000}) {
    const RenewingOwner owner{at, count};
    const auto factory = product.make_factory({});
    std::vector<std::unique_ptr<Quiet>> contenders;
    std::vector<std::unique_ptr<MutexContendService>> services;
    for (int i = 0; i < count; ++i) {
      contenders.push_back(std::make_unique<Quiet>("mutex-" + std::to_string(i)));
      services.push_back(factory->create_mutex_contend_service(*contenders.back()));
      services.back()->start();
    }
    const auto spent = [&] {
      return cpu_seconds(server) - cpu_seconds(server + "/task/" + owner.server_thread());
    };
    std::this_thread::sleep_for(begun);
    const auto from = std::chrono::steady_clock::now();
    const double before = spent();
    std::this_thread::sleep_for(observed);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - from;
    figures.at_most(product.name + ": CPU of the server for " + std::to_string(count) +
                        " mutexes that a process waits for, whose owner renews",
                    100 * (spent() - before) / passed.count(), 2, "% of a core");
    for (const auto& service : services) service->close();
  }
}

int run() {
  pin_to_core(0);
  const support::MariaDbServer server;
  unpin();
  const auto at = server.location();
  SqlProduct product;
  product.name = "MariaDB";
  product.make_factory = [&](const ContentionOptions& options) {
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
    std::string rows;
    for (int i = 0; i < count; ++i) {
      rows += (i == 0 ? "" : ",") + std::string{"('mutex-"} + std::to_string(i) +
              "', 0, 4102444800000, 4102444800000, 'another', 1)";
    }
    raw.execute("INSERT IGNORE INTO simba_mutex VALUES " + rows);
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
  std::ifstream pid_file{raw.execute("SELECT @@pid_file")};
  std::string server_process;
  pid_file >> server_process;
  waiting_figures(product, at, server_process, figures);
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
