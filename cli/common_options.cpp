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
#include "cli/terminal/printable.hpp"
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
      fmt::format("cannot make the folder {}: {}; name a store by --backend or SIMBA_BACKEND",
                  folder.string(),
                  std::strerror(error))};  // NOLINT(concurrency-mt-unsafe): one thread yet
}

std::string default_url() {
  const auto path = default_database();
  make_folder(path.parent_path());
  return "sqlite:" + percent_encoded(path.string());
}

/// Says what the library cannot know: where the name of the file is from.
void check_readable(const std::string& file) {
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0) return;
  if (errno == EACCES) {
    throw Failure{ExitCode::refused,
                  fmt::format("{}: this user may not read the file that --config names; let it "
                              "read the file, or name another",
                              file)};
  }
  if (errno == ENOENT) {
    throw Failure{
        ExitCode::configuration,
        fmt::format("{}: there is no such file; check the path that --config gives", file)};
  }
}

/// Where the switch is that is off.
std::string switched_off(const CommonOptions& options) {
  if (!variable("SIMBA_ENABLED").empty()) {
    return "simba is switched off by the variable SIMBA_ENABLED, which stands for simba.enabled; "
           "unset it";
  }
  return fmt::format(
      "simba is switched off by simba.enabled in {}; set it to true there, or "
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
                    "HOME is not set, so there is no place for a default store; name one by "
                    "--backend or SIMBA_BACKEND, e.g. sqlite:/var/lib/app/simba.db"};
    }
    state = home / ".local" / "state";
  }
  return state / "simba" / "simba.db";
}

void CommonOptions::add_to(CLI::App& app) {
  const std::string group{common_group};
  auto* url =
      app.add_option("-b,--backend", backend,
                     "The store, e.g. redis://host, postgresql://user@host/db, sqlite:/path "
                     "(default: SIMBA_BACKEND, also before --config, else SQLite in the user's "
                     "state folder)");
  auto* file =
      app.add_option("--config", config,
                     "A YAML file that names the store (simba.yaml), unless SIMBA_BACKEND does");
  auto* section = app.add_option(
      "--store", store,
      "The store of --config to use, e.g. redis, where several are enabled; SIMBA_BACKEND does not "
      "count then");
  auto* name = app.add_option("-m,--mutex", mutex, "The name of the mutex");
  auto* who = app.add_option("--id", id, "The contender id (default: one of this process)");
  auto* lease = app.add_option("--ttl", ttl, "The owner renews within this time, e.g. 10s");
  auto* grace = app.add_option("--transition", transition,
                               "How much longer nobody else may acquire, e.g. 6s");
  auto* objects = app.add_flag("--json", json, "Print one JSON object a line");
  auto* talk = app.add_flag("-v,--verbose", verbosity, "Show the library's log; -vv shows more");
  url->type_name("URL")->group(group)->excludes(file);
  file->type_name("FILE")->group(group);
  section->type_name("NAME")->group(group)->needs(file);
  name->type_name("NAME")->group(group);
  who->type_name("CONTENDER")->group(group);
  lease->type_name("TIME")->group(group);
  grace->type_name("TIME")->group(group);
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
  if (!mutex) throw UsageError{"which mutex? name it by -m NAME"};
  if (mutex->find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError{"the name of the mutex after -m is blank; it needs a letter or digit"};
  }
  return *mutex;
}

std::string CommonOptions::named_by(const config::Environment& environment) const {
  if (backend) return "option --backend";
  const bool named = environment.find("SIMBA_BACKEND").has_value();
  if (config) {
    const std::string file = "file " + *config;
    if (store) return "option --store, in " + file;
    return named ? "variable SIMBA_BACKEND, which goes before what " + file + " says" : file;
  }
  if (named) return "variable SIMBA_BACKEND";
  return config::Configuration::from_environment(environment).store().empty()
             ? "default, since nothing names a store"
             : "variables of the environment";
}

bool CommonOptions::uses_default_store() const {
  const auto environment = config::process_environment();
  return !backend && !config && !environment.find("SIMBA_SQLITE_PATH") &&
         config::Configuration::from_environment(environment).store().empty();
}

bool CommonOptions::passes_over_config() const {
  return config && !backend && !store && !variable("SIMBA_BACKEND").empty();
}

std::string CommonOptions::contender_id() const {
  return id ? *id : ContenderIdGenerator::unique().generate();
}

}  // namespace simba::cli
