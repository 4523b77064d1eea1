#include "cli/common_options.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "cli/output/printable.hpp"
#include "simba/core/contender_id_generator.hpp"

namespace simba::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value != nullptr ? value : "";
}

/// Only the user may look inside what is made here.
void make_folder(const std::filesystem::path& folder) {
  if (folder.empty() || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  if (errno == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    make_folder(folder.parent_path());
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  }
  const int error = errno;
  throw Failure{
      error == EACCES || error == EROFS ? ExitCode::refused : ExitCode::configuration,
      fmt::format("cannot create directory {}: {}; choose a store with --backend or SIMBA_BACKEND",
                  folder.string(),
                  std::strerror(error))};  // NOLINT(concurrency-mt-unsafe): one thread yet
}

std::string default_url() {
  const auto path = default_database();
  make_folder(path.parent_path());
  return "sqlite:" + detail::percent_encoded(path.string(), "/-._~");
}

/// Says what the library cannot know: where the name of the file is from.
void check_readable(const std::string& file) {
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0) return;
  if (errno == EACCES) {
    throw Failure{ExitCode::refused,
                  fmt::format("cannot read {}: permission denied; make the file that --config "
                              "names readable for this user",
                              file)};
  }
  if (errno == ENOENT) {
    throw Failure{
        ExitCode::configuration,
        fmt::format("cannot read {}: no such file; check the path given to --config", file)};
  }
}

/// Names what disables simba.
std::string switched_off(const CommonOptions& options) {
  if (!variable("SIMBA_ENABLED").empty()) {
    return "simba is disabled by the environment variable SIMBA_ENABLED; unset it";
  }
  return fmt::format(
      "simba is disabled by simba.enabled in {}; set it to true there, or set "
      "SIMBA_ENABLED=true",
      options.config.value_or("the configuration"));
}

config::Configuration chosen(const CommonOptions& options) {
  using config::Configuration;
  const auto environment = config::process_environment();
  if (options.backend) return Configuration::from_url(*options.backend, environment, "--backend");
  if (options.config) {
    check_readable(*options.config);
    return Configuration::from_file(*options.config, environment, options.store.value_or(""));
  }
  auto named = Configuration::from_environment(environment);
  if (!named.store().empty()) return named;
  // A default is weaker than the variable, so it leaves the path out where that is set.
  const bool has_path = environment.find("SIMBA_SQLITE_PATH").has_value();
  return Configuration::from_url(has_path ? "sqlite:" : default_url(), environment,
                                 "the default store");
}

}  // namespace

std::filesystem::path default_database() {
  std::filesystem::path state = variable("XDG_STATE_HOME");
  if (!state.is_absolute()) {  // as its specification says
    const std::filesystem::path home = variable("HOME");
    if (!home.is_absolute()) {
      throw Failure{ExitCode::configuration,
                    "no default store because HOME is not set; choose a store with --backend or "
                    "SIMBA_BACKEND, for example sqlite:/var/lib/app/simba.db"};
    }
    state = home / ".local" / "state";
  }
  return state / "simba" / "simba.db";
}

void CommonOptions::add_to(CLI::App& app) {
  const std::string group{common_group};
  auto* url = app.add_option(
      "-b,--backend", backend,
      "URL of the store, for example redis://host, postgresql://user@host/db, "
      "sqlite:/path (default: SIMBA_BACKEND, which also overrides --config, otherwise "
      "SQLite in the user's state directory)");
  auto* file = app.add_option("--config", config,
                              "YAML file that configures the store; overridden by SIMBA_BACKEND");
  auto* section = app.add_option(
      "--store", store,
      "Which store in the --config file to use, for example redis, if several are enabled; "
      "SIMBA_BACKEND is then ignored");
  auto* name = app.add_option("-m,--mutex", mutex, "Name of the mutex");
  auto* who = app.add_option("--id", id, "Contender id (default: unique to this process)");
  auto* lease = app.add_option("--ttl", ttl, "Time within which the owner renews, for example 10s");
  auto* grace = app.add_option("--transition", transition,
                               "Time after the ttl before others may acquire, for example 6s");
  auto* share = app.add_flag("--share-passwords", share_passwords,
                             "Let CMD and hooks inherit SIMBA_*_PASSWORD, and the password in "
                             "SIMBA_BACKEND (default: they do not)");
  auto* objects = app.add_flag("--json", json, "Print one JSON object per line");
  auto* talk =
      app.add_flag("-v,--verbose", verbosity, "Show the library's log; -vv shows more of it");
  url->type_name("URL")->group(group)->excludes(file);
  file->type_name("FILE")->group(group);
  section->type_name("NAME")->group(group)->needs(file);
  name->type_name("NAME")->group(group);
  who->type_name("CONTENDER")->group(group);
  lease->type_name("TIME")->group(group);
  grace->type_name("TIME")->group(group);
  share->group(group);
  objects->group(group);
  talk->group(group);
}

config::Configuration CommonOptions::load() const {
  if (mutex) static_cast<void>(need_mutex());
  config::Configuration configuration = chosen(*this);
  if (!configuration.enabled()) {
    throw Failure{ExitCode::configuration, switched_off(*this)};
  }
  if (ttl) configuration.set("ttl", *ttl, "--ttl");
  if (transition) configuration.set("transition", *transition, "--transition");
  return configuration;
}

const std::string& CommonOptions::need_mutex() const {
  if (!mutex) throw UsageError{"missing -m NAME"};
  if (mutex->find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError{"mutex name after -m must not be blank"};
  }
  return *mutex;
}

std::string CommonOptions::named_by(const config::Environment& environment) const {
  if (backend) return "option --backend";
  const bool named = environment.find("SIMBA_BACKEND").has_value();
  if (config) {
    const std::string file = "file " + *config;
    if (store) return "option --store, in " + file;
    return named ? "variable SIMBA_BACKEND, which overrides " + file : file;
  }
  if (named) return "variable SIMBA_BACKEND";
  return config::Configuration::from_environment(environment).store().empty()
             ? "default, because no store is configured"
             : "environment variables";
}

bool CommonOptions::uses_default_store() const {
  const auto environment = config::process_environment();
  return !backend && !config && !environment.find("SIMBA_SQLITE_PATH") &&
         config::Configuration::from_environment(environment).store().empty();
}

bool CommonOptions::backend_overrides_config() const {
  return config && !backend && !store && !variable("SIMBA_BACKEND").empty();
}

std::string CommonOptions::contender_id() const {
  return id ? *id : ContenderIdGenerator::unique().generate();
}

}  // namespace simba::cli
