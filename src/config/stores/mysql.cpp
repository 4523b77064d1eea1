#include <fmt/format.h>

#include "config/keys/common_keys.hpp"
#include "config/stores/stores.hpp"
#include "core/text.hpp"
#include "simba/mysql/mysql_admin.hpp"
#include "simba/mysql/mysql_factory.hpp"

namespace simba::config {
namespace {

class MySqlStoreOptions final
    : public OptionsOf<mysql::MySqlOptions, mysql::make_mysql_store, mysql::make_mysql_factory,
                       mysql::make_mysql_admin> {
 public:
  MySqlStoreOptions() {
    keys_.host({.name = "host", .meaning = "host name or address of the server"}, options_.host);
    keys_.integer({.name = "port", .meaning = "TCP port of the server"}, options_.port, 1, 65'535);
    keys_.path({.name = "unix-socket",
                .meaning = "the path of a Unix socket, instead of host and port",
                .instead_of = {"host", "port"}},
               options_.unix_socket);
    keys_.text(
        {.name = "user",
         .meaning = "needs SELECT, INSERT and UPDATE on tables `simba_mutex` and `simba_record`",
         .fallback = "none; required"},
        options_.user);
    keys_.secret(
        {.name = "password",
         .meaning = "password of `user`; sent in clear only to a server that is verified or "
                    "on a Unix socket"},
        options_.password);
    keys_.text({.name = "database",
                .meaning = "database that contains the table",
                .fallback = "none; required"},
               options_.database);
    bind_tls(keys_, options_.tls);
    bind_sql(keys_, options_.sql);
  }

  std::string description() const override {
    const std::string place = options_.unix_socket.empty()
                                  ? detail::host_text(options_.host, options_.port)
                                  : detail::percent_encoded(options_.unix_socket);
    return fmt::format("mysql://{}{}/{}", user_part(options_.user), place,
                       detail::percent_encoded(options_.database));
  }
};

}  // namespace

std::unique_ptr<StoreOptions> make_mysql_options() { return std::make_unique<MySqlStoreOptions>(); }

std::vector<Parameter> read_mysql_url(const Url& url) { return read_database_url(url, 3306); }

}  // namespace simba::config
