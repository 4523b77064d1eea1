// Feeds texts to all that reads simba.yaml. Files and variables that they name are not read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/read/sections.hpp"
#include "config/selection.hpp"
#include "fuzz/support.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

using fuzz::check;

/// An exception other than Error is a find.
void run_config_yaml(std::string_view text) {
  try {
    check_sections(read_yaml(text, "simba.yaml"));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    check(error.kind() == ErrorKind::configuration, "it is a fault of the configuration");
    check(message.starts_with("simba.yaml:"), "a message names the file");
    check(fuzz::prints(message), "a message prints");
  }
}

}  // namespace
}  // namespace simba::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::config::run_config_yaml({reinterpret_cast<const char*>(data), size});
  return 0;
}
