#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "simba/engine/store_admin.hpp"
#include "simba/sql/sql_options.hpp"
#include "sql/database.hpp"
#include "sql/sql_store.hpp"

namespace simba::sql {

/// What a database product brings for tools, beside its `Database`. Throws Error as that does.
///
/// Threads: used by one thread at a time.
class TableInspector {
 public:
  TableInspector() = default;
  TableInspector(const TableInspector&) = delete;
  TableInspector& operator=(const TableInspector&) = delete;
  virtual ~TableInspector() = default;

  /// As `StoreAdmin::check_exists`.
  virtual void check_exists() {}

  /// Whether the store finds all that it needs. Makes nothing.
  virtual bool has_table() = 0;

  /// Hands over the names of all mutexes, in any order. The table exists. An exception from `add`
  /// ends it.
  virtual void read_names(const std::function<void(std::string name)>& add) = 0;

  /// As `StoreAdmin::examine`.
  virtual engine::StoreReport examine() = 0;
};

/// The database, set up to make the table or never to make it.
using DatabaseWith = std::function<std::shared_ptr<Database>(Schema)>;

/// Where the table is missing and `options.schema` lets the store make it, no mutex is known;
/// otherwise that is an error. `log` is told of rows that a listing cannot read and leaves out.
std::unique_ptr<engine::StoreAdmin> make_sql_admin(std::unique_ptr<TableInspector> inspector,
                                                   DatabaseWith database, const SqlOptions& options,
                                                   const SqlDefaults& defaults,
                                                   std::shared_ptr<Logger> log);

/// A column of somebody's table.
struct TableColumn {
  std::string name{};
  std::string type{};                   ///< as the database calls it
  std::optional<std::uint64_t> most{};  ///< characters of a text, bits of a number; empty: enough
};

/// What is wrong with the columns. `version_bits`: of the column that the schema of the product
/// has.
std::vector<engine::Finding> check_columns(const std::vector<TableColumn>& columns,
                                           std::uint64_t version_bits);

/// What the text has from the database is made printable, and the whole is cut at a length that no
/// finding of ours comes near.
engine::Finding note(std::string_view text);
engine::Finding warning(std::string_view text);
/// `kind`: what contenders fail with.
engine::Finding problem(std::string_view text, ErrorKind kind = ErrorKind::configuration);
engine::Finding problem(const Error& error);

/// The milliseconds that a database says it is; nothing where no calendar has such a moment.
std::optional<StoreTime> server_time(std::optional<std::int64_t> milliseconds);

/// True where one of them is a problem.
bool has_problem(const std::vector<engine::Finding>& findings);

}  // namespace simba::sql
