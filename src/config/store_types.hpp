#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/read/url.hpp"
#include "config/store_options.hpp"

namespace simba::config {

/// What the configuration knows of a kind of store.
struct StoreType {
  std::string name{};   ///< of the section in YAML, e.g. "redis"
  std::string title{};  ///< for people, e.g. "Redis"
  UrlForm form = UrlForm::hosts;
  std::vector<std::string> schemes{};
  std::vector<std::string> urls{};  ///< what a URL looks like, for people
  bool sql = false;                 ///< whether the section `jdbc` may name it

  /// Both empty if the store was not built in.
  std::unique_ptr<StoreOptions> (*make)() = nullptr;
  /// The keys that a URL sets by its parts; its parameters are not among them. Throws Error of kind
  /// `configuration`.
  std::vector<Parameter> (*read_url)(const Url& url) = nullptr;

  bool built() const noexcept { return make != nullptr; }
};

/// All stores, also those that were not built in.
const std::vector<StoreType>& store_types();

/// None: null.
const StoreType* find_store_type(std::string_view name);
const StoreType* find_store_type_by_scheme(std::string_view scheme);

/// Throws Error of kind `unsupported` if the store was not built in.
void require_built(const StoreType& type, std::string_view origin);

}  // namespace simba::config
