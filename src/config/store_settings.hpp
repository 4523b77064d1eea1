#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/store_types.hpp"
#include "simba/config/configuration.hpp"
#include "simba/config/environment.hpp"

namespace simba::config {

/// A value for a key, and where it was found.
struct Setting {
  std::string key{};
  std::string value{};
  std::string origin{};    ///< what messages begin with, e.g. "simba.yaml:3: simba.redis.ttl"
  std::string problem{};   ///< why there is no value that could be used
  std::string place{};     ///< where it was found, in short, where that is not the origin
  std::string warning{};   ///< what is unsafe about it
  std::string variable{};  ///< that has the secret
  WithoutUnit numbers = WithoutUnit::refused;  ///< of a duration
};

/// What is set at one place, e.g. in a URL or in the environment.
using Layer = std::vector<Setting>;

/// A store with all that is set for it. A value.
///
/// Everything that does not fit throws Error of kind `configuration` whose text begins with the
/// origin.
class StoreSettings {
 public:
  /// The store must be built in. `origin` stands for the whole in messages.
  StoreSettings(const StoreType& type, std::string origin);

  const StoreType& type() const noexcept { return *type_; }

  /// Sets what the layer has: it replaces what was set before. Reads the files and variables that
  /// it names as secrets. `also` are names that messages say are allowed too.
  void add(const Layer& layer, const Environment& environment,
           const std::vector<std::string>& also = {});

  /// Sets what the layer has and nothing before has said, neither by the same key nor by one that
  /// stands in its place. Of the secrets only those are read that count.
  void fill_in(const Layer& layer, const Environment& environment,
               const std::vector<std::string>& also = {});

  /// Throws Error of kind `unsupported` where the store has none.
  void set_credentials(CredentialsSource source);

  /// Checks all values, one by one and together. `origin` is blamed for contradictions.
  void check() const { check(origin_); }
  void check(std::string_view origin) const;

  /// All that was set, in the order of the keys, without secrets.
  std::vector<SetValue> values() const;

  /// The options with everything set.
  std::unique_ptr<StoreOptions> options() const;

 private:
  /// A setting that does not count, and the place of the one that does.
  struct Replaced {
    Setting setting{};
    std::string by{};
  };

  void check_keys(const KeyTable& table, const Layer& layer,
                  const std::vector<std::string>& also) const;

  const StoreType* type_;
  std::string origin_;
  Layer settings_;  // of keys of the table; each key once
  std::vector<Replaced> replaced_;
  CredentialsSource credentials_;
};

/// Checks the keys of a layer and the form of its values, but reads no secrets. `also` are names
/// that are allowed beside the keys.
void check_layer(const StoreType& type, const Layer& layer, const std::vector<std::string>& also);

/// Checks the key alone; `also` as above.
void check_key(const KeyTable& table, const Setting& setting,
               const std::vector<std::string>& also = {});

/// Throws if there is no value.
const std::string& value_of(const Setting& setting);

}  // namespace simba::config
