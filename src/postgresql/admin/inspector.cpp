#include "postgresql/admin/inspector.hpp"

#include <cstddef>
#include <libpq-fe.h>
#include <utility>

#include "postgresql/errors.hpp"
#include "postgresql/statements.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::postgresql {

PostgreSqlInspector::PostgreSqlInspector(const PostgreSqlOptions& options,
                                         std::chrono::milliseconds connect_timeout,
                                         std::chrono::milliseconds statement_timeout)
    : settings_{std::make_shared<ConnectSettings>(options)},
      listen_{options.listen},
      connect_timeout_{connect_timeout},
      statement_timeout_{statement_timeout} {}

void PostgreSqlInspector::connect() {
  if (connection_ && connection_->usable()) return;
  connection_.reset();
  auto fresh = std::make_unique<Connection>(settings_);
  fresh->open(sql::real_now() + connect_timeout_, never_raised_);
  connection_ = std::move(fresh);
}

TableText PostgreSqlInspector::ask(const char* statement) {
  connect();
  const Result result =
      connection_->run(statement, {}, sql::real_now() + statement_timeout_, never_raised_);
  TableText table(static_cast<std::size_t>(PQntuples(result.get())));
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& values = table[static_cast<std::size_t>(row)];
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      values.emplace_back(PQgetvalue(result.get(), row, column),
                          static_cast<std::size_t>(PQgetlength(result.get(), row, column)));
    }
  }
  return table;
}

bool PostgreSqlInspector::has_table() { return !table().empty(); }

/// Its qualified name; empty: it is not there.
std::string PostgreSqlInspector::table() {
  const TableText found = ask(statements::find_tables().c_str());
  if (found.empty()) return {};
  std::string name = statements::table_in(value_in(found, 0, 3));
  if (value_in(found, 0, 1) == "t") return name;
  if (value_in(found, 0, 2) != "f") {
    throw table_of_stranger(settings_->name(), name, value_in(found, 0, 0),
                            PQuser(connection_->handle()));
  }
  if (value_in(found, 0, 4) != "f") {
    throw table_hides_another(settings_->name(), name, value_in(found, 0, 0));
  }
  return name;
}

void PostgreSqlInspector::read_names(const std::function<void(std::string name)>& add) {
  const std::string name = table();
  if (name.empty()) return;
  const TableText found = ask(("SELECT mutex FROM " + name).c_str());
  for (std::size_t row = 0; row < found.size(); ++row) add(value_in(found, row, 0));
}

engine::StoreReport PostgreSqlInspector::examine() {
  connect();
  const PGconn* const handle = connection_->handle();
  return Examination{{.name = settings_->name(),
                      .user = PQuser(handle),
                      .database = PQdb(handle),
                      .version = PQserverVersion(handle),
                      .session = PQbackendPID(handle),
                      .cockroach = PQparameterStatus(handle, "crdb_version") != nullptr,
                      .listen = listen_},
                     [this](const char* statement) { return ask(statement); }}
      .run();
}

}  // namespace simba::postgresql
