#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "simba/engine/store_admin.hpp"
#include "simba/sql/sql_options.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/place.hpp"

namespace simba::sqlite {

/// Whether all that the store needs is in the database.
bool is_complete(Connection& connection);

/// What a database file and its directory are like, and what follows from that. Never makes the
/// file.
class Examination {
 public:
  /// Opens the file. Throws Error.
  using Open = std::function<Connection()>;

  /// `place` outlives it.
  Examination(const Place& place, sql::Schema schema, Open open);

  /// As `StoreAdmin::examine`.
  engine::StoreReport run() const;

 private:
  void check_place(std::vector<engine::Finding>& findings) const;
  void check_tables(std::vector<engine::Finding>& findings) const;

  const Place& place_;
  const std::filesystem::path& path_ = place_.file();
  const sql::Schema schema_;
  const Open open_;
};

}  // namespace simba::sqlite
