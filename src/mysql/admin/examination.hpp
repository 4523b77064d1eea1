#pragma once

#include <cstdint>
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

  /// What the connection knows.
  struct About {
    bool mariadb = false;
    std::uint64_t connection = 0;  ///< its number, as the other end has said when it greeted
  };

  /// `settings` outlives it.
  Examination(const Settings& settings, About about, Ask ask);

  /// As `StoreAdmin::examine`.
  engine::StoreReport run() const;

 private:
  using Values = std::vector<StatementResult::Value>;

  /// The rows of the last statement; what the server refuses is thrown.
  std::vector<Values> rows_of(std::string_view text) const;
  void check_server(engine::StoreReport& report) const;
  /// Tells which schema has the list of processes.
  std::string_view check_settings(engine::StoreReport& report) const;
  void check_rights(std::vector<engine::Finding>& findings) const;
  void check_table(std::vector<engine::Finding>& findings) const;
  void check_names(const Values& column, std::vector<engine::Finding>& findings) const;
  void check_versions(std::vector<engine::Finding>& findings) const;
  void check_sessions(std::string_view processes, std::vector<engine::Finding>& findings) const;

  const Settings& settings_;
  const About about_;
  const Ask ask_;
};

}  // namespace simba::mysql
