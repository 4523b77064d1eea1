#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "mysql/connection.hpp"
#include "mysql/settings.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::mysql {

/// What a server answers to questions about it and its table, and what follows from that. No I/O in
/// it, and no answer is believed: one that makes no sense ends in Error `internal`.
class Examination {
 public:
  /// Throws Error where there is no answer; what the server refuses is in the reply.
  using Ask = std::function<Reply(std::string_view statement)>;

  /// `settings` outlives it.
  Examination(const Settings& settings, bool mariadb, Ask ask);

  /// As `StoreAdmin::examine`.
  engine::StoreReport run() const;

 private:
  using Values = std::vector<StatementResult::Value>;

  /// The rows of the last statement; what the server refuses is thrown.
  std::vector<Values> rows_of(std::string_view text) const;
  void check_version(engine::StoreReport& report) const;
  void check_settings(std::vector<engine::Finding>& findings) const;
  void check_rights(std::vector<engine::Finding>& findings) const;
  void check_table(std::vector<engine::Finding>& findings) const;
  void check_names(const Values& column, std::vector<engine::Finding>& findings) const;
  void check_versions(std::vector<engine::Finding>& findings) const;
  void check_sessions(std::vector<engine::Finding>& findings) const;

  const Settings& settings_;
  const bool mariadb_;
  const Ask ask_;
};

}  // namespace simba::mysql
