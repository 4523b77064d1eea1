#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "simba/core/log.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "sql/database.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/host_clock.hpp"
#include "sqlite/liveness.hpp"
#include "sqlite/place.hpp"

namespace simba::sqlite {

/// A database file. See `sql::Database`.
class SqliteDatabase final : public sql::Database {
 public:
  /// Empty `clock`: the host's. Another one is for tests.
  SqliteDatabase(Place place, ChildProcesses child_processes, sql::Schema schema,
                 std::shared_ptr<Logger> log, HostClock clock = {});

  std::string_view name() const noexcept override { return name_; }
  std::unique_ptr<sql::Session> connect(LocalTime deadline, const sql::Wakeup& closing) override;
  std::unique_ptr<sql::ChangeFeed> make_feed() override;

 private:
  void ensure_schema(Connection& connection) const;
  std::shared_ptr<const Liveness> ensure_liveness(LocalTime deadline, const sql::Wakeup& closing);

  // constant after construction
  const Place place_;
  const std::filesystem::path alive_path_;
  const std::string name_;
  const ChildProcesses child_processes_;
  const sql::Schema schema_;
  const std::shared_ptr<Logger> log_;

  std::mutex mutex_;
  HostClock clock_;                           // guarded by mutex_
  std::shared_ptr<const Liveness> liveness_;  // guarded by mutex_
};

}  // namespace simba::sqlite
