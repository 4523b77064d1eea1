#include <fmt/format.h>

#include "config/keys/common_keys.hpp"
#include "config/stores/stores.hpp"
#include "core/host_list.hpp"
#include "core/text.hpp"
#include "simba/postgresql/postgresql_admin.hpp"
#include "simba/postgresql/postgresql_factory.hpp"

namespace simba::config {
namespace {

using postgresql::Listen;

class PostgreSqlStoreOptions final
    : public OptionsOf<postgresql::PostgreSqlOptions, postgresql::make_postgresql_store,
                       postgresql::make_postgresql_factory, postgresql::make_postgresql_admin> {
 public:
  PostgreSqlStoreOptions() {
    keys_.host(
        {.name = "host",
         .meaning = "host name or address of the server, or the directory of its Unix socket; of "
                    "several, separated by commas, the first that accepts writes"},
        options_.host);
    keys_.integer({.name = "port", .meaning = "TCP port of hosts given without one"}, options_.port,
                  1, 65'535);
    keys_.text(
        {.name = "user",
         .meaning = "needs SELECT, INSERT and UPDATE on tables `simba_mutex` and `simba_record`",
         .fallback = "the name of the operating system user"},
        options_.user);
    keys_.secret({.name = "password",
                  .meaning = "password of `user`",
                  .fallback = "what libpq finds (PGPASSWORD, ~/.pgpass)"},
                 options_.password);
    keys_.text({.name = "database",
                .meaning = "database that contains the table",
                .fallback = "the user name"},
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
    const bool several = options_.host.find(',') != std::string::npos;
    const std::string place = socket    ? detail::percent_encoded(options_.host)
                              : several ? options_.host
                                        : detail::host_text(options_.host, options_.port);
    const std::string database = options_.database.empty()
                                     ? std::string{}
                                     : "/" + detail::percent_encoded(options_.database);
    return fmt::format("postgresql://{}{}{}", user_part(options_.user), place, database);
  }
};

}  // namespace

std::unique_ptr<StoreOptions> make_postgresql_options() {
  return std::make_unique<PostgreSqlStoreOptions>();
}

std::vector<Parameter> read_postgresql_url(const Url& url) {
  constexpr std::uint16_t usual_port = 5432;
  if (url.hosts.size() < 2) return read_database_url(url, usual_port);
  Url rest = url;
  rest.hosts.clear();
  auto parameters = read_database_url(rest, usual_port);
  std::string hosts;
  for (const detail::HostPort& host : url.hosts) {
    if (!hosts.empty()) hosts += ',';
    hosts += host.port ? detail::host_text(host.host, *host.port) : detail::host_text(host.host);
  }
  parameters.push_back({"host", hosts});
  return parameters;
}

}  // namespace simba::config
