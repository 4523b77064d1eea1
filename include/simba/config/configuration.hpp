#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simba/config/environment.hpp"
#include "simba/core/credentials.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::config {

class StoreSettings;

/// A key that was set, and where it was set.
struct SetValue {
  std::string key{};
  std::string value{};        ///< "***" if it is a secret
  std::string origin{};       ///< e.g. "variable SIMBA_REDIS_TTL"
  std::string replaced_by{};  ///< origin of the value that overrides it; empty: none does
  std::string warning{};      ///< what is unsafe about it, e.g. that others can read it; or empty
  std::string variable{};     ///< the one that `password-env` names, which has the secret; or empty
};

/// Which store to use, and how: read from a URL, a YAML file and environment variables. A value
/// type; validated on construction.
///
/// Precedence: what the caller passes (the URL, `set`), the environment, the file, the default. A
/// value in the URL of the caller or in SIMBA_BACKEND is never replaced by the variable of a single
/// key; a value that the URL omits, such as a password, may come from one.
///
/// Every function that creates or changes a configuration throws Error of kind `configuration` if
/// it is invalid, with the file and line, the URL or the variable, the key, what was found and what
/// is allowed; and of kind `unsupported` if the store was not built in. Messages never contain a
/// password.
class Configuration {
 public:
  /// Ignores variables that select a store (`SIMBA_BACKEND`, `SIMBA_<STORE>_URL`). `origin` is what
  /// messages call the URL, e.g. "--backend".
  static Configuration from_url(std::string_view url,
                                const Environment& environment = empty_environment(),
                                std::string_view origin = {});

  /// The store selected by the environment: `SIMBA_BACKEND`, otherwise the one that
  /// `SIMBA_<STORE>_URL` or `SIMBA_<STORE>_ENABLED` enables; none if no variable does. Throws Error
  /// of kind `configuration` if one, such as `SIMBA_REDIS_HOSTS`, says where a store is that none
  /// chooses.
  static Configuration from_environment(const Environment& environment = process_environment());

  /// `store`: the store to use, e.g. "redis"; empty: the enabled one, of which there must be
  /// exactly one. `SIMBA_BACKEND` overrides the stores in the file, unless `store` is given.
  static Configuration from_file(const std::filesystem::path& file,
                                 const Environment& environment = process_environment(),
                                 std::string_view store = {});

  /// `name` is what messages call the file.
  static Configuration from_yaml(std::string_view text, std::string_view name,
                                 const Environment& environment = empty_environment(),
                                 std::string_view store = {});

  ~Configuration();
  Configuration(const Configuration& other);
  Configuration& operator=(const Configuration& other);
  Configuration(Configuration&& other) noexcept;
  Configuration& operator=(Configuration&& other) noexcept;

  /// The master switch `simba.enabled`. If it is off, no store needs to be configured;
  /// `make_factory` still works if one is.
  bool enabled() const noexcept;

  /// E.g. "redis"; empty: none is configured, and functions that need one throw.
  std::string_view store() const noexcept;

  /// The store and its location, without secrets, e.g. "redis://app@10.0.0.5:6379".
  std::string description() const;

  /// All keys that were set, in the order of the document, including overridden ones.
  std::vector<SetValue> values() const;

  /// Sets one key of the store, e.g. `set("ttl", "5s", "--ttl")`. `origin` is what messages call
  /// it. Validates everything again; if it throws, nothing has changed.
  void set(std::string_view key, std::string_view value, std::string_view origin);

  /// Lets each new connection log in with what `source` returns, instead of the password that is
  /// configured. Throws Error of kind `unsupported` if the store is not Redis, MySQL or PostgreSQL;
  /// if it throws, nothing has changed.
  void set_credentials(CredentialsSource source);

  /// The contention options, validated and with all derived values filled in.
  ContentionPlan plan() const;

  /// The worst cases of this store with this plan.
  WorstCases worst_cases() const;

  std::unique_ptr<MutexServiceFactory> make_factory(
      const std::shared_ptr<const Runtime>& runtime = {}) const;

  std::unique_ptr<engine::StoreAdmin> make_admin(
      const std::shared_ptr<const Runtime>& runtime = {}) const;

 private:
  Configuration(bool enabled, std::unique_ptr<StoreSettings> settings);

  const StoreSettings& settings() const;

  bool enabled_ = true;
  std::unique_ptr<StoreSettings> settings_;
};

}  // namespace simba::config
