#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/store_settings.hpp"
#include "simba/config/environment.hpp"

namespace simba::config {

/// The settings of one store, or of `jdbc`, in one place.
struct Section {
  std::string name{};    ///< e.g. "redis"
  std::string origin{};  ///< e.g. "simba.yaml:2: simba.redis"
  std::string place{};   ///< for lists, e.g. "simba.redis (line 2)"
  std::optional<Setting> enabled{};
  std::optional<Setting> url{};
  Layer keys{};
};

/// All that a file or an environment says.
struct Sections {
  std::optional<Setting> enabled{};  ///< the master switch
  std::vector<Section> sections{};

  /// None: null.
  const Section* find(std::string_view name) const;
};

/// The section whose store is told by its URL.
inline constexpr std::string_view jdbc_section = "jdbc";

/// The names that a section may have.
std::vector<std::string> section_names();

/// The names that a section knows beside the keys of its store.
const std::vector<std::string>& names_of_every_section();

/// Reads the text of a file that `name` stands for. Throws Error of kind `configuration` that
/// begins with the name and the line.
Sections read_yaml(std::string_view text, std::string_view name);

/// The variable for a key, e.g. "SIMBA_REDIS_TTL".
std::string variable_of(std::string_view section, std::string_view key);

/// Reads the variables `SIMBA_ENABLED` and `SIMBA_<STORE>_<KEY>`. Those that Kubernetes sets for a
/// service that is called so are not read. Throws Error of kind `configuration` if a variable is
/// surely meant for us, but the name of the store is wrong or missing.
Sections read_environment(const Environment& environment);

/// Checks the keys and the form of the values of a section, but reads no secrets. Nothing if the
/// store was not built in. `type` is null if it is not known.
void check_section(const Section& section, const StoreType* type);

}  // namespace simba::config
