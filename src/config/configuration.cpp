#include "simba/config/configuration.hpp"

#include <utility>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "config/read/file_text.hpp"
#include "config/read/sections.hpp"
#include "config/read/url_settings.hpp"
#include "config/selection.hpp"
#include "config/store_settings.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

constexpr std::size_t longest_file = 1'048'576;

bool master_switch(const Sections& file, const Sections& variables) {
  const auto& setting = variables.enabled ? variables.enabled : file.enabled;
  if (!setting) return true;
  const std::string& value = value_of(*setting);
  try {
    return parse_toggle(value);
  } catch (const Error& error) {
    refuse(setting->origin, error.what());
  }
}

StoreSettings settings_of_url(std::string_view url, std::string_view found_at,
                              const Sections& variables, const Environment& environment) {
  const UrlSettings from_url = read_url(url, found_at);
  StoreSettings settings{*from_url.type, from_url.origin};
  settings.add(from_url.layer, environment);
  fill_in_variables(settings, variables, environment);
  return settings;
}

/// A store out of those that are offered, and whether the master switch is on.
struct Choice {
  bool enabled = true;
  std::unique_ptr<StoreSettings> settings{};
};

Choice choose(const Offer& offer, std::string_view store, Need need) {
  check_sections(offer.file);
  check_sections(offer.variables);
  Choice choice{.enabled = master_switch(offer.file, offer.variables)};
  const auto backend = offer.environment.find("SIMBA_BACKEND");
  if (backend && store.empty()) {
    choice.settings = std::make_unique<StoreSettings>(
        settings_of_url(*backend, "variable SIMBA_BACKEND", offer.variables, offer.environment));
  } else if (auto selected = select(offer, store, choice.enabled ? need : Need::any)) {
    choice.settings = std::make_unique<StoreSettings>(std::move(*selected));
  }
  if (choice.settings) choice.settings->check();
  return choice;
}

}  // namespace

Configuration Configuration::from_url(std::string_view url, const Environment& environment,
                                      std::string_view origin) {
  const Sections variables = read_environment(environment);
  check_sections(variables);
  auto settings =
      std::make_unique<StoreSettings>(settings_of_url(url, origin, variables, environment));
  settings->check();
  return {master_switch({}, variables), std::move(settings)};
}

Configuration Configuration::from_environment(const Environment& environment) {
  const Sections file;
  const Sections variables = read_environment(environment);
  auto [enabled, settings] =
      choose({"the environment", file, variables, environment}, {}, Need::at_most_one);
  return {enabled, std::move(settings)};
}

Configuration Configuration::from_file(const std::filesystem::path& file,
                                       const Environment& environment, std::string_view store) {
  std::string text;
  try {
    text = read_file(file, longest_file);
  } catch (const Error& error) {
    refuse(file.string(), error.what());
  }
  return from_yaml(text, file.string(), environment, store);
}

Configuration Configuration::from_yaml(std::string_view text, std::string_view name,
                                       const Environment& environment, std::string_view store) {
  const Sections file = read_yaml(text, name);
  const Sections variables = read_environment(environment);
  auto [enabled, settings] = choose({name, file, variables, environment}, store, Need::one);
  return {enabled, std::move(settings)};
}

Configuration::Configuration(bool enabled, std::unique_ptr<StoreSettings> settings)
    : enabled_{enabled}, settings_{std::move(settings)} {}

Configuration::~Configuration() = default;

Configuration::Configuration(const Configuration& other)
    : enabled_{other.enabled_},
      settings_{other.settings_ ? std::make_unique<StoreSettings>(*other.settings_) : nullptr} {}

Configuration& Configuration::operator=(const Configuration& other) {
  *this = Configuration{other};
  return *this;
}

Configuration::Configuration(Configuration&& other) noexcept = default;
Configuration& Configuration::operator=(Configuration&& other) noexcept = default;

bool Configuration::enabled() const noexcept { return enabled_; }

std::string_view Configuration::store() const noexcept {
  return settings_ ? std::string_view{settings_->type().name} : std::string_view{};
}

const StoreSettings& Configuration::settings() const {
  if (settings_) return *settings_;
  throw Error{
      ErrorKind::configuration,
      enabled_ ? "no store configured" : "no store configured: Simba is disabled by simba.enabled"};
}

std::string Configuration::description() const { return settings().options()->description(); }

std::vector<SetValue> Configuration::values() const { return settings().values(); }

void Configuration::set(std::string_view key, std::string_view value, std::string_view origin) {
  auto changed = std::make_unique<StoreSettings>(settings());
  changed->add(
      {{.key = std::string{key}, .value = std::string{value}, .origin = std::string{origin}}},
      process_environment());
  changed->check(origin);
  settings_ = std::move(changed);
}

void Configuration::set_credentials(CredentialsSource source) {
  auto changed = std::make_unique<StoreSettings>(settings());
  changed->set_credentials(std::move(source));
  changed->check();
  settings_ = std::move(changed);
}

ContentionPlan Configuration::plan() const { return settings().options()->plan(); }

WorstCases Configuration::worst_cases() const {
  const auto options = settings().options();
  return options->make_store()->worst_cases(options->plan());
}

std::unique_ptr<MutexServiceFactory> Configuration::make_factory(
    const std::shared_ptr<const Runtime>& runtime) const {
  return settings().options()->make_factory(runtime);
}

std::unique_ptr<engine::StoreAdmin> Configuration::make_admin(
    const std::shared_ptr<const Runtime>& runtime) const {
  return settings().options()->make_admin(runtime ? runtime : make_runtime());
}

}  // namespace simba::config
