#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace simba::config {

/// Variables of an environment, as they were when this was made. A value.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  /// No variables at all.
  Environment() = default;
  explicit Environment(Variables variables);

  /// A variable that is set to nothing counts as not set.
  std::optional<std::string> find(std::string_view name) const;

  const Variables& variables() const noexcept { return variables_; }

 private:
  Variables variables_;
};

/// That of this process.
Environment process_environment();

/// No variables at all.
Environment empty_environment();

}  // namespace simba::config
