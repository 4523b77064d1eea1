#pragma once

#include <atomic>

#include "simba/sql/sql_options.hpp"

namespace simba::postgresql {

/// What all sessions of a database know of the table, so that only the first one looks for it.
///
/// Threads: may be used from any thread.
class TableState {
 public:
  explicit TableState(sql::Schema schema) : schema_{schema} {}

  bool may_be_made() const noexcept { return schema_ == sql::Schema::create; }
  bool found() const noexcept { return found_.load(); }
  void set_found(bool found) noexcept { found_.store(found); }

 private:
  const sql::Schema schema_;
  std::atomic<bool> found_{false};
};

}  // namespace simba::postgresql
