#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "simba/config/configuration.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace simba::cli {

/// Under which help texts show them.
inline constexpr std::string_view common_group = "Common options";

/// The options of all commands. They may stand before or after the name of the command.
struct CommonOptions {
  std::optional<std::string> backend{};
  std::optional<std::string> config{};
  std::optional<std::string> store{};
  std::optional<std::string> mutex{};
  std::optional<std::string> id{};
  std::optional<std::string> ttl{};
  std::optional<std::string> transition{};
  bool share_passwords = false;  ///< CMD and hooks get those in our variables
  bool json = false;
  int verbosity = 0;

  /// Lets `app` fill them in. The object must live as long as `app`.
  void add_to(CLI::App& app);

  /// The store to use: --backend, else what --store names in --config, else SIMBA_BACKEND, else
  /// --config, else what SIMBA_<STORE>_URL or SIMBA_<STORE>_ENABLED enables, else SQLite in the
  /// user's state folder, which is made. Throws Error of kind `configuration`; Failure where
  /// simba.enabled is off or the file cannot be read; UsageError where --mutex is blank.
  config::Configuration load() const;

  /// What names the store that `load` gives, in words, e.g. "option --backend".
  std::string named_by(const config::Environment& environment) const;

  /// Whether nothing names a store, nor where SQLite's file is.
  bool uses_default_store() const;

  /// Whether SIMBA_BACKEND names the store although --config is given.
  bool backend_overrides_config() const;

  /// --mutex. Throws UsageError where it is missing or blank.
  const std::string& need_mutex() const;

  /// --id, else a new one of this host and process.
  std::string contender_id() const;
};

/// Where SQLite's file is when nothing else is said: $XDG_STATE_HOME/simba/simba.db, or
/// ~/.local/state/simba/simba.db. Throws Failure where there is no home.
std::filesystem::path default_database();

}  // namespace simba::cli
