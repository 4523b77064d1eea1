#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mysql/connection.hpp"
#include "mysql/settings.hpp"
#include "sql/admin/sql_admin.hpp"

namespace simba::mysql {

/// Looks at a MySQL or MariaDB server and its table, on a connection of its own.
class MySqlInspector final : public sql::TableInspector {
 public:
  MySqlInspector(Settings checked, std::chrono::milliseconds connect_timeout);

  bool has_table() override;
  void read_names(const std::function<void(std::string name)>& add) override;
  engine::StoreReport examine() override;

 private:
  void connect();
  Reply ask(std::string_view text);

  // constant after construction
  const Settings settings_;
  const std::chrono::milliseconds connect_timeout_;
  const sql::Wakeup never_raised_{};

  std::unique_ptr<Connection> connection_{};
};

}  // namespace simba::mysql
