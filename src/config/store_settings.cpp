#include "config/store_settings.hpp"

#include <algorithm>
#include <map>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "config/read/file_text.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

constexpr std::size_t longest_secret = 65'536;

/// Of `password`, `password-file` and `password-env` one.
void check_secrets(const KeyTable& table, const Layer& layer) {
  std::map<const Key*, const Setting*> seen;
  for (const Setting& setting : layer) {
    const FoundKey found = table.find(setting.key);
    if (found.key == nullptr || found.key->kind != KeyKind::secret) continue;
    const auto [other, is_new] = seen.emplace(found.key, &setting);
    if (is_new || other->second->key == setting.key) continue;
    refuse(setting.origin, fmt::format("{} and {} are both set; remove one of them",
                                       other->second->key, setting.key));
  }
}

std::string read_secret_file(const Setting& setting) {
  try {
    std::string text = read_file(setting.value, longest_secret);
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
  } catch (const Error& error) {
    // Its name is not quoted: it may be the secret itself, in the wrong key.
    refuse(setting.origin, error.what());
  }
}

/// Why a file with a secret is not safe; empty: it is. Its name is not quoted: see above.
std::string warning_about(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || (status.st_mode & S_IROTH) == 0) return {};
  return fmt::format(
      "every user of this host can read the file (mode {:04o}); run chmod o-rwx on it",
      status.st_mode & 07777U);
}

std::string resolve(const Setting& setting, SecretSource source, const Environment& environment) {
  switch (source) {
    case SecretSource::value:
      break;
    case SecretSource::file:
      return read_secret_file(setting);
    case SecretSource::variable:
      if (auto value = environment.find(setting.value)) return *value;
      // Not quoted either.
      refuse(setting.origin,
             "the environment variable that it names is not set; the value must be the name "
             "of a variable, not the secret");
  }
  return value_of(setting);
}

/// With the key itself for `password-file` and the like, and what that leads to.
Setting in_words_of(const KeyTable& table, const Setting& setting, const Environment& environment) {
  const FoundKey found = table.find(setting.key);
  Setting resolved = setting;
  resolved.key = found.key->text.name;
  resolved.value = resolve(setting, found.source, environment);
  if (found.source == SecretSource::file) resolved.warning = warning_about(setting.value);
  if (found.source == SecretSource::variable) resolved.variable = setting.value;
  return resolved;
}

const std::string& place_of(const Setting& setting) {
  return setting.place.empty() ? setting.origin : setting.place;
}

void set(const Key& key, const Setting& setting) {
  try {
    key.set(setting.value, setting.numbers);
  } catch (const Error& error) {
    refuse(setting.origin, error.what());
  }
}

}  // namespace

const std::string& value_of(const Setting& setting) {
  if (!setting.problem.empty()) refuse(setting.origin, setting.problem);
  return setting.value;
}

void check_key(const KeyTable& table, const Setting& setting,
               const std::vector<std::string>& also) {
  if (table.find(setting.key).key != nullptr) return;
  if (std::find(also.begin(), also.end(), setting.key) != also.end()) return;
  std::vector<std::string> known = also;
  for (std::string& name : table.names()) {
    if (std::find(also.begin(), also.end(), name) == also.end()) known.push_back(std::move(name));
  }
  refuse(setting.origin, "unknown key" + suggestion(setting.key, known));
}

void check_layer(const StoreType& type, const Layer& layer, const std::vector<std::string>& also) {
  const auto options = type.make();
  for (const Setting& setting : layer) {
    check_key(options->keys(), setting, also);
    static_cast<void>(value_of(setting));
    const FoundKey found = options->keys().find(setting.key);
    if (found.key != nullptr && found.source == SecretSource::value) set(*found.key, setting);
  }
  check_secrets(options->keys(), layer);
}

StoreSettings::StoreSettings(const StoreType& type, std::string origin)
    : type_{&type}, origin_{std::move(origin)} {
  require_built(type, origin_);
}

void StoreSettings::check_keys(const KeyTable& table, const Layer& layer,
                               const std::vector<std::string>& also) const {
  for (const Setting& setting : layer) check_key(table, setting, also);
  check_secrets(table, layer);
}

void StoreSettings::add(const Layer& layer, const Environment& environment,
                        const std::vector<std::string>& also) {
  const auto options = type_->make();
  const KeyTable& table = options->keys();
  check_keys(table, layer, also);
  Layer resolved;
  for (const Setting& setting : layer) resolved.push_back(in_words_of(table, setting, environment));
  for (const Setting& strong : resolved) {
    for (Setting& weak : settings_) {
      if (table.exclude(strong.key, weak.key)) {
        replaced_.push_back({.setting = weak, .by = place_of(strong)});
      }
    }
    std::erase_if(settings_,
                  [&](const Setting& weak) { return table.exclude(strong.key, weak.key); });
  }
  settings_.insert(settings_.end(), resolved.begin(), resolved.end());
}

void StoreSettings::fill_in(const Layer& layer, const Environment& environment,
                            const std::vector<std::string>& also) {
  const auto options = type_->make();
  const KeyTable& table = options->keys();
  check_keys(table, layer, also);
  Layer resolved;
  for (const Setting& setting : layer) {
    const std::string& key = table.find(setting.key).key->text.name;
    const auto stronger =
        std::find_if(settings_.begin(), settings_.end(),
                     [&](const Setting& other) { return table.exclude(other.key, key); });
    if (stronger == settings_.end()) {
      resolved.push_back(in_words_of(table, setting, environment));
    } else {
      replaced_.push_back({.setting = setting, .by = place_of(*stronger)});
    }
  }
  settings_.insert(settings_.end(), resolved.begin(), resolved.end());
}

std::vector<SetValue> StoreSettings::values() const {
  const auto options = type_->make();
  std::vector<SetValue> values;
  for (const Key& key : options->keys().keys()) {
    const auto add = [&](const Setting& setting, const std::string& by) {
      const FoundKey found = options->keys().find(setting.key);
      if (found.key != &key) return;
      // One that was replaced before it was read still has the name as its value.
      const bool unread = found.source == SecretSource::variable;
      values.push_back({.key = key.text.name,
                        .value = key.kind == KeyKind::secret ? "***" : setting.value,
                        .origin = place_of(setting),
                        .replaced_by = by,
                        .warning = by.empty() ? setting.warning : "",
                        .variable = unread ? setting.value : setting.variable});
    };
    for (const Setting& setting : settings_) add(setting, {});
    for (const Replaced& replaced : replaced_) add(replaced.setting, replaced.by);
  }
  return values;
}

std::unique_ptr<StoreOptions> StoreSettings::options() const {
  auto options = type_->make();
  for (const Setting& setting : settings_) {
    set(*options->keys().find(setting.key).key, setting);
  }
  if (credentials_) options->set_credentials(credentials_);
  return options;
}

void StoreSettings::set_credentials(CredentialsSource source) {
  if (!type_->make()->set_credentials(source)) {
    throw Error{ErrorKind::unsupported,
                fmt::format("{}: {} takes no credentials from a callback", origin_, type_->title)};
  }
  credentials_ = std::move(source);
}

void StoreSettings::check(std::string_view origin) const {
  const auto complete = options();
  try {
    static_cast<void>(complete->plan());
    static_cast<void>(complete->make_store());
  } catch (const Error& error) {
    const ErrorKind kind =
        error.kind() == ErrorKind::unsupported ? ErrorKind::unsupported : ErrorKind::configuration;
    throw Error{kind,
                fmt::format("{}: {}", origin, complete->keys().in_words_of_keys(error.what()))};
  }
}

}  // namespace simba::config
