#include "simba/core/tls_options.hpp"

#include <ostream>

namespace simba {

std::string_view to_string(TlsMode mode) noexcept {
  switch (mode) {
    case TlsMode::unset:
      return "unset";
    case TlsMode::off:
      return "off";
    case TlsMode::encrypt:
      return "encrypt";
    case TlsMode::verify_ca:
      return "verify-ca";
    case TlsMode::verify:
      return "verify";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, TlsMode mode) { return out << to_string(mode); }

std::string to_string(const TlsOptions& options) {
  std::string text{to_string(options.mode)};
  const auto add = [&](std::string_view name, const std::string& file) {
    if (!file.empty()) text.append(", ").append(name).append(" ").append(file);
  };
  add("CA file", options.ca_file);
  add("certificate file", options.certificate_file);
  add("key file", options.key_file);
  return text;
}

std::ostream& operator<<(std::ostream& out, const TlsOptions& options) {
  return out << to_string(options);
}

}  // namespace simba
