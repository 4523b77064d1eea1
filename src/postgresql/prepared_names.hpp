#pragma once

#include <set>
#include <string>
#include <string_view>

namespace simba::postgresql {

/// The name under which a statement is prepared. Made of its text, so that on a server connection
/// that several clients share a name never stands for another statement.
std::string prepared_name(std::string_view statement);

/// What one session has prepared on the server. Prepared statements need no parsing and planning,
/// which take most of a statement's time, but belong to the server's session. Behind a pooler that
/// shares sessions they are not used; where one shows up unannounced, no longer.
class PreparedNames {
 public:
  explicit PreparedNames(bool in_use) : in_use_{in_use} {}

  bool in_use() const noexcept { return in_use_; }
  void stop_using() noexcept { in_use_ = false; }

  bool has(const std::string& name) const { return names_.contains(name); }
  void add(const std::string& name) { names_.insert(name); }

  /// Whether a refusal with this SQLSTATE means, and came before anything was done, that the
  /// session is not ours alone or that the table has been altered.
  static bool shows_misfit(std::string_view sql_state) noexcept;

 private:
  bool in_use_;
  std::set<std::string> names_{};
};

}  // namespace simba::postgresql
