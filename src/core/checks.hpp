#pragma once

#include <chrono>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "simba/core/error.hpp"
#include "simba/core/tls_options.hpp"

/// Checks of options, which all stores share. Each throws InvalidArgumentError that names the value
/// and its bound.
namespace simba::detail {

/// Throws InvalidArgumentError{otherwise} unless `holds`.
inline void require(bool holds, const std::string& otherwise) {
  if (!holds) throw InvalidArgumentError{otherwise};
}

/// Answers with `value` if it is from `lowest` to `highest`.
template <std::integral Number>
Number in_bounds(std::string_view name, Number value, std::type_identity_t<Number> lowest,
                 std::type_identity_t<Number> highest) {
  require(value >= lowest && value <= highest,
          fmt::format("{} must be between {} and {} (got {})", name, lowest, highest, value));
  return value;
}

inline std::chrono::milliseconds in_bounds(std::string_view name, std::chrono::milliseconds value,
                                           std::chrono::milliseconds lowest,
                                           std::chrono::milliseconds highest = std::chrono::hours{
                                               1}) {
  require(value >= lowest && value <= highest,
          fmt::format("{} must be between {} ms and {} ms (got {} ms)", name, lowest.count(),
                      highest.count(), value.count()));
  return value;
}

/// What C libraries would cut off is refused.
inline void check_no_nul(std::string_view name, std::string_view value) {
  require(value.find('\0') == std::string_view::npos,
          fmt::format("{} must not contain a NUL character", name));
}

/// A certificate and its key belong together.
inline void check_certificate(const TlsOptions& tls) {
  require(tls.certificate_file.empty() == tls.key_file.empty(),
          "tls.certificate_file and tls.key_file must be set together");
}

/// `ca_file`: the CAs that verify the server, if any are named. From the system's CAs everybody can
/// get a certificate for a host of their own, which is enough where the host is not checked.
inline void check_ca(TlsMode mode, std::string_view ca_file) {
  require(mode != TlsMode::verify_ca || !ca_file.empty(),
          "tls.mode verify_ca accepts a certificate for any host, so with the system's CAs anybody "
          "could pose as the server; set tls.ca_file, or set tls.mode to verify");
}

}  // namespace simba::detail
