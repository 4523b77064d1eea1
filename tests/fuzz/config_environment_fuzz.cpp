// Feeds variables of the environment to all that reads them. The input: a line NAME=value each.
// Files and variables that they name are not read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/read/sections.hpp"
#include "config/selection.hpp"
#include "fuzz/support.hpp"
#include "simba/config/environment.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

using fuzz::check;

Environment environment_of(std::string_view text) {
  Environment::Variables variables;
  for (const std::string_view line : fuzz::split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return Environment{std::move(variables)};
}

/// What is said of the variables; empty: nothing. An exception other than Error is a find.
std::string complaint(const Environment& environment) {
  try {
    const Sections sections = read_environment(environment);
    for (const Section& section : sections.sections) {
      check(section.enabled || section.url || !section.keys.empty(), "no section is empty");
      for (const Setting& setting : section.keys) {
        check(!setting.value.empty(), "a variable that is set to nothing is not set");
      }
    }
    check_sections(sections);
    return {};
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::configuration || error.kind() == ErrorKind::unsupported,
          "it is a fault of the configuration");
    return error.what();
  }
}

void run_config_environment(std::string_view text) {
  const Environment environment = environment_of(text);
  check(fuzz::prints(complaint(environment)), "a message prints");

  // Whatever else there is: a password is not in what is said.
  constexpr std::string_view secret = "hunter2";
  if (text.find("hunter") != std::string_view::npos) return;
  auto variables = environment.variables();
  variables["SIMBA_REDIS_PASSWORD"] = secret;
  variables["SIMBA_MYSQL_URL"] = "mysql://user:hunter2@host/db";
  const std::string message = complaint(Environment{std::move(variables)});
  check(message.find(secret) == std::string::npos, "a password is never shown");
}

}  // namespace
}  // namespace simba::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::config::run_config_environment({reinterpret_cast<const char*>(data), size});
  return 0;
}
