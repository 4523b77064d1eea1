#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace simba::config {

/// A snapshot of environment variables. A value type.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  /// No variables at all.
  Environment() = default;
  explicit Environment(Variables variables);

  /// An empty variable counts as not set.
  std::optional<std::string> find(std::string_view name) const;

  const Variables& variables() const noexcept { return variables_; }

 private:
  Variables variables_;
};

/// The environment of this process.
Environment process_environment();

/// No variables at all.
Environment empty_environment();

}  // namespace simba::config
