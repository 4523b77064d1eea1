#pragma once

#include <memory>
#include <string>

#include "config/keys/key_table.hpp"
#include "simba/core/credentials.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::config {

/// The options of one store, and the keys that set them.
class StoreOptions {
 public:
  StoreOptions() = default;
  StoreOptions(const StoreOptions&) = delete;
  StoreOptions& operator=(const StoreOptions&) = delete;
  virtual ~StoreOptions() = default;

  const KeyTable& keys() const noexcept { return keys_; }

  /// False where the store has none.
  virtual bool set_credentials(const CredentialsSource& /*source*/) { return false; }

  /// The store and where it is, without secrets.
  virtual std::string description() const = 0;

  /// Throws InvalidArgumentError if the options contradict each other.
  virtual ContentionPlan plan() const = 0;

  /// The store itself, for its own checks and for what it says of itself. Starts nothing. Throws
  /// Error.
  virtual std::shared_ptr<engine::LeaseStore> make_store() const = 0;

  /// `runtime` may be empty.
  virtual std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> runtime) const = 0;

  /// `runtime` is never empty. Throws Error of kind `unsupported` if the store has none.
  virtual std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> runtime) const = 0;

 protected:
  KeyTable keys_;
};

/// The options of a store, as it has them.
template <class Options>
class WithOptions : public StoreOptions {
 public:
  /// With what is derived from several keys: what the store and its factory are made of. Throws
  /// Error.
  virtual Options complete() const { return options_; }

 protected:
  Options options_;
};

/// For checks alone: a clock and a log that drops everything, and no threads.
std::shared_ptr<const Runtime> idle_runtime();

}  // namespace simba::config
