#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/read/url.hpp"
#include "config/store_options.hpp"

/// A pair of functions for each store; those of stores that were not built in are not there.
namespace simba::config {

std::unique_ptr<StoreOptions> make_memory_options();
std::vector<Parameter> read_memory_url(const Url& url);

std::unique_ptr<StoreOptions> make_sqlite_options();
std::vector<Parameter> read_sqlite_url(const Url& url);

std::unique_ptr<StoreOptions> make_postgresql_options();
std::vector<Parameter> read_postgresql_url(const Url& url);

std::unique_ptr<StoreOptions> make_mysql_options();
std::vector<Parameter> read_mysql_url(const Url& url);

std::unique_ptr<StoreOptions> make_redis_options();
std::vector<Parameter> read_redis_url(const Url& url);

std::unique_ptr<StoreOptions> make_zookeeper_options();
std::vector<Parameter> read_zookeeper_url(const Url& url);

/// What is alike in the options of all stores that other processes see: a store, a factory and an
/// admin, each made of `complete()`.
template <class Options, auto& store_of, auto& factory_of, auto& admin_of>
class OptionsOf : public WithOptions<Options> {
 public:
  bool set_credentials(const CredentialsSource& source) override {
    if constexpr (requires(Options options) { options.credentials; }) {
      this->options_.credentials = source;
      return true;
    } else {
      return StoreOptions::set_credentials(source);
    }
  }
  ContentionPlan plan() const override { return ContentionPlan{common(this->options_).contention}; }
  std::shared_ptr<engine::LeaseStore> make_store() const override {
    return store_of(this->complete(), idle_runtime());
  }
  std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> runtime) const override {
    Options options = this->complete();
    common(options).runtime = std::move(runtime);
    return factory_of(std::move(options));
  }
  std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> runtime) const override {
    return admin_of(this->complete(), std::move(runtime));
  }

 private:
  /// What has contention and runtime in it.
  static auto& common(auto& options) noexcept {
    if constexpr (requires { options.sql; }) {
      return options.sql;
    } else {
      return options;
    }
  }
};

}  // namespace simba::config
