#include <utility>

#include <fmt/format.h>

#include "config/keys/common_keys.hpp"
#include "config/stores/stores.hpp"
#include "simba/mysql/mysql_admin.hpp"
#include "simba/mysql/mysql_factory.hpp"

namespace simba::config {
namespace {

class MySqlStoreOptions final : public StoreOptions {
 public:
  MySqlStoreOptions() {
    keys_.host({.name = "host", .meaning = "host name or address of the server"}, options_.host);
    keys_.integer({.name = "port", .meaning = "of the server"}, options_.port, 1, 65'535);
    keys_.path({.name = "unix-socket",
                .meaning = "the path of a Unix socket, instead of host and port",
                .instead_of = {"host", "port"}},
               options_.unix_socket);
    keys_.text({.name = "user",
                .meaning = "needs SELECT, INSERT and UPDATE on table `simba_mutex`",
                .fallback = "none; required"},
               options_.user);
    keys_.secret({.name = "password", .meaning = "never sent in clear text"}, options_.password);
    keys_.text(
        {.name = "database", .meaning = "that contains the table", .fallback = "none; required"},
        options_.database);
    keys_.integer({.name = "hint-connections",
                   .meaning = "for how many mutexes at a time a connection waits inside the "
                              "server, so that a release reaches the waiter immediately"},
                  options_.hint_connections, 0, 64);
    bind_tls(keys_, options_.tls);
    bind_sql(keys_, options_.sql);
  }

  std::string description() const override {
    const std::string place = options_.unix_socket.empty() ? to_text(options_.host, options_.port)
                                                           : percent_encoded(options_.unix_socket);
    return fmt::format("mysql://{}{}/{}", user_part(options_.user), place,
                       percent_encoded(options_.database));
  }

  engine::ContentionPlan plan() const override {
    return engine::ContentionPlan{options_.sql.contention};
  }
  std::shared_ptr<engine::LeaseStore> make_store() const override {
    return mysql::make_mysql_store(options_, idle_runtime());
  }

  std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> runtime) const override {
    auto options = options_;
    options.sql.runtime = std::move(runtime);
    return mysql::make_mysql_factory(std::move(options));
  }

  std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> runtime) const override {
    return mysql::make_mysql_admin(options_, std::move(runtime));
  }

 private:
  mysql::MySqlOptions options_;
};

}  // namespace

std::unique_ptr<StoreOptions> make_mysql_options() { return std::make_unique<MySqlStoreOptions>(); }

std::vector<Parameter> read_mysql_url(const Url& url) { return read_database_url(url, 3306); }

}  // namespace simba::config
