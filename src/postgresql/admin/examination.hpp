#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "simba/engine/store_admin.hpp"
#include "simba/postgresql/postgresql_factory.hpp"

namespace simba::postgresql {

/// The rows of an answer as text; "" where it is NULL.
using TableText = std::vector<std::vector<std::string>>;

/// A value that must be there: throws Error `internal` where the server left it out.
const std::string& value_in(const TableText& table, std::size_t row, std::size_t column);

/// What a server answers to questions about it and its table, and what follows from that. No I/O in
/// it, and no answer is believed: one that lacks rows or columns ends in Error `internal`.
class Examination {
 public:
  /// What the connection knows.
  struct About {
    std::string name{};  ///< of the database, for messages
    std::string user{};
    std::string database{};
    int version = 0;         ///< as PQserverVersion has it
    int session = 0;         ///< the process that serves it
    bool cockroach = false;  ///< it says that it is CockroachDB
    Listen listen = Listen::yes;
  };

  /// Throws Error where there is no answer.
  using Ask = std::function<TableText(const char* statement)>;

  Examination(About about, Ask ask);

  /// As `StoreAdmin::examine`.
  engine::StoreReport run() const;

 private:
  void check_server(engine::StoreReport& report) const;
  void check_owner(std::vector<engine::Finding>& findings, const TableText& found) const;
  void check_table(std::vector<engine::Finding>& findings) const;
  void check_rights(std::vector<engine::Finding>& findings) const;

  const About about_;
  const Ask ask_;
};

}  // namespace simba::postgresql
