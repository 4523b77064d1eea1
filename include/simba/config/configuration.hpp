#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simba/config/environment.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::config {

class StoreSettings;

/// A key that was set, and where.
struct SetValue {
  std::string key{};
  std::string value{};        ///< "***" where it is a secret
  std::string origin{};       ///< e.g. "variable SIMBA_REDIS_TTL"
  std::string replaced_by{};  ///< where the value is from that counts instead; empty: this counts
};

/// Which store to use and how: read from a URL, a YAML file, and variables of the environment. A
/// value; everything is checked when it is made.
///
/// From the strongest to the weakest: what the caller says (the URL, `set`), the environment, the
/// file, the default. What a URL of the caller or SIMBA_BACKEND names is never replaced by a
/// variable of a single key; what it does not name, as a password, may come from one.
///
/// Every function that makes or changes one throws Error of kind `configuration`: it names the file
/// and line, the URL or the variable, the key, what was found and what is allowed. `unsupported`
/// where the store was not built in. A password is never in a message.
class Configuration {
 public:
  /// Variables that name a store (`SIMBA_BACKEND`, `SIMBA_<STORE>_URL`) do not count here. `origin`
  /// names the URL in messages, e.g. "--backend".
  static Configuration from_url(std::string_view url,
                                const Environment& environment = empty_environment(),
                                std::string_view origin = {});

  /// The store that variables name: `SIMBA_BACKEND`, else the one that `SIMBA_<STORE>_URL` or
  /// `SIMBA_<STORE>_ENABLED` enables. None where no variable does.
  static Configuration from_environment(const Environment& environment = process_environment());

  /// `store`: the one to use, e.g. "redis"; empty: the one that is enabled, which must be exactly
  /// one. `SIMBA_BACKEND` is used instead of what the file says of stores, unless one is named.
  static Configuration from_file(const std::filesystem::path& file,
                                 const Environment& environment = process_environment(),
                                 std::string_view store = {});

  /// `name` stands for the file in messages.
  static Configuration from_yaml(std::string_view text, std::string_view name,
                                 const Environment& environment = empty_environment(),
                                 std::string_view store = {});

  ~Configuration();
  Configuration(const Configuration& other);
  Configuration& operator=(const Configuration& other);
  Configuration(Configuration&& other) noexcept;
  Configuration& operator=(Configuration&& other) noexcept;

  /// The master switch `simba.enabled`. Whoever makes a factory all the same gets one, if a store
  /// is chosen: where the switch is off it need not be.
  bool enabled() const noexcept;

  /// E.g. "redis"; empty: none is chosen, and what needs one throws.
  std::string_view store() const noexcept;

  /// The store and where it is, without secrets, e.g. "redis://app@10.0.0.5:6379".
  std::string description() const;

  /// All keys that were set, in the order of the document, also those that do not count.
  std::vector<SetValue> values() const;

  /// Sets one key of the store, e.g. `set("ttl", "5s", "--ttl")`. `origin` names it in messages.
  /// Checks everything again; where it throws nothing has changed.
  void set(std::string_view key, std::string_view value, std::string_view origin);

  /// How mutexes are contended for: with everything derived and checked.
  engine::ContentionPlan plan() const;

  /// What can be counted on at worst, with this store and this plan.
  engine::WorstCases worst_cases() const;

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
