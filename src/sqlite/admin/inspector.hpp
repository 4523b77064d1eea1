#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "sql/admin/sql_admin.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/place.hpp"

namespace simba::sqlite {

/// Looks at a database file and where it is. Never makes the file.
class FileInspector final : public sql::TableInspector {
 public:
  FileInspector(Place place, sql::Schema schema, std::chrono::milliseconds timeout);

  void check_exists() override;
  bool has_table() override;
  void read_names(const std::function<void(std::string name)>& add) override;
  engine::StoreReport examine() override;

 private:
  Connection open() const;
  bool is_missing() const;

  // constant after construction
  const Place place_;
  const std::filesystem::path& path_ = place_.file();
  const sql::Schema schema_;
  const std::chrono::milliseconds timeout_;
  const sql::Wakeup never_raised_{};
};

}  // namespace simba::sqlite
