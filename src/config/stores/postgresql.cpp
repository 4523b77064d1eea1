#include <utility>

#include <fmt/format.h>

#include "config/keys/common_keys.hpp"
#include "config/stores/stores.hpp"
#include "simba/postgresql/postgresql_admin.hpp"
#include "simba/postgresql/postgresql_factory.hpp"

namespace simba::config {
namespace {

using postgresql::Listen;

class PostgreSqlStoreOptions final : public StoreOptions {
 public:
  PostgreSqlStoreOptions() {
    keys_.host(
        {.name = "host",
         .meaning = "host name or address of the server, or the directory of its Unix socket"},
        options_.host);
    keys_.integer({.name = "port", .meaning = "of the server"}, options_.port, 1, 65'535);
    keys_.text({.name = "user",
                .meaning = "needs SELECT, INSERT and UPDATE on table `simba_mutex`",
                .fallback = "the name of the operating system user"},
               options_.user);
    keys_.secret({.name = "password",
                  .meaning = "of the user",
                  .fallback = "what libpq finds (PGPASSWORD, ~/.pgpass)"},
                 options_.password);
    keys_.text(
        {.name = "database", .meaning = "that contains the table", .fallback = "the user name"},
        options_.database);
    keys_.toggle({.name = "listen",
                  .meaning = "whether waiters are notified of changes by LISTEN/NOTIFY; `false` "
                             "for poolers that share sessions, such as PgBouncer",
                  .fallback = "true"},
                 [this](bool on) { options_.listen = on ? Listen::yes : Listen::no; });
    bind_tls(keys_, options_.tls);
    bind_sql(keys_, options_.sql);
  }

  std::string description() const override {
    const bool socket = options_.host.starts_with('/');
    const std::string place =
        socket ? percent_encoded(options_.host) : to_text(options_.host, options_.port);
    const std::string database =
        options_.database.empty() ? std::string{} : "/" + percent_encoded(options_.database);
    return fmt::format("postgresql://{}{}{}", user_part(options_.user), place, database);
  }

  engine::ContentionPlan plan() const override {
    return engine::ContentionPlan{options_.sql.contention};
  }
  std::shared_ptr<engine::LeaseStore> make_store() const override {
    return postgresql::make_postgresql_store(options_, idle_runtime());
  }

  std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> runtime) const override {
    auto options = options_;
    options.sql.runtime = std::move(runtime);
    return postgresql::make_postgresql_factory(std::move(options));
  }

  std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> runtime) const override {
    return postgresql::make_postgresql_admin(options_, std::move(runtime));
  }

 private:
  postgresql::PostgreSqlOptions options_;
};

}  // namespace

std::unique_ptr<StoreOptions> make_postgresql_options() {
  return std::make_unique<PostgreSqlStoreOptions>();
}

std::vector<Parameter> read_postgresql_url(const Url& url) { return read_database_url(url, 5432); }

}  // namespace simba::config
