#pragma once

#include <string>
#include <vector>

#include "simba/postgresql/postgresql_factory.hpp"

struct pg_conn;  // of libpq

namespace simba::postgresql {

/// Where and how to connect, in the terms of libpq. Holds the password.
class ConnectSettings {
 public:
  explicit ConnectSettings(const PostgreSqlOptions& options);

  /// E.g. "PostgreSQL at db:5432". Has no password.
  const std::string& name() const noexcept { return name_; }

  /// Whether a pooler may stand between: then a setting of the session must not be changed.
  bool pooled() const noexcept { return pooled_; }

  /// Begins to connect; null where memory is short.
  pg_conn* start() const;

 private:
  struct Setting {
    const char* keyword;
    std::string value;
  };

  std::string name_;
  bool pooled_;
  std::vector<Setting> settings_;
};

}  // namespace simba::postgresql
