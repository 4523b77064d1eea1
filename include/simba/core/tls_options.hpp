#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace simba {

enum class TlsMode {
  unset,      ///< unencrypted; an error if a password would leave this host that way
  off,        ///< unencrypted, wherever a password goes
  encrypt,    ///< encrypted, but the server is not verified: protects against eavesdropping only
  verify_ca,  ///< the certificate must be signed by a CA in `ca_file`; its host is not checked
  verify,     ///< the certificate must be signed by the CA and match the host name
};

constexpr bool uses_tls(TlsMode mode) noexcept {
  return mode != TlsMode::unset && mode != TlsMode::off;
}

/// How a connection is encrypted. Files are in PEM format.
struct TlsOptions {
  TlsMode mode = TlsMode::unset;
  std::string ca_file{};           ///< required with verify_ca; empty: the system's trusted CAs
  std::string certificate_file{};  ///< of the client, if the server requires one
  std::string key_file{};          ///< of the client's certificate

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

/// As in a URL, e.g. "verify-ca"; or "unset".
std::string_view to_string(TlsMode mode) noexcept;
std::ostream& operator<<(std::ostream& out, TlsMode mode);

/// The mode and the files that are set, e.g. "verify, CA file /etc/ca.pem".
std::string to_string(const TlsOptions& options);
std::ostream& operator<<(std::ostream& out, const TlsOptions& options);

}  // namespace simba
