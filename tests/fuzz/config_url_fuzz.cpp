// Feeds texts to all that reads URLs of stores. Files and variables that they name are not read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/read/url_settings.hpp"
#include "config/store_settings.hpp"
#include "fuzz/support.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

using fuzz::check;
using fuzz::prints;

/// What is said of the URL. An exception other than Error is a find.
std::string read(std::string_view url) {
  try {
    const UrlSettings settings = read_url(url, {});
    check_layer(*settings.type, settings.layer, {});
    return settings.origin;
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::configuration || error.kind() == ErrorKind::unsupported,
          "a URL that is wrong is a fault of the configuration");
    return error.what();
  }
}

void run_config_url(std::string_view text) {
  check(prints(read(text)), "what is said of a URL prints");

  constexpr std::string_view secret = "hunter2";
  if (text.find("hunter") != std::string_view::npos) return;
  const std::string before = "redis://user:hunter2";
  const std::string after = "hunter2@host";
  check(read(before + std::string{text}).find(secret) == std::string::npos,
        "a password is never shown, whatever comes after it");
  check(read("redis://user:" + std::string{text} + after).find(secret) == std::string::npos,
        "a password is never shown, whatever comes before it");
}

}  // namespace
}  // namespace simba::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::config::run_config_url({reinterpret_cast<const char*>(data), size});
  return 0;
}
