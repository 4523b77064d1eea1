#pragma once

#include <string>

namespace simba {

enum class TlsMode {
  off,        ///< plain
  encrypt,    ///< encrypted, but to anyone who answers: protects against listening only
  verify_ca,  ///< the certificate must be signed by the CA, for whatever host
  verify,     ///< the certificate must be signed by the CA and name the host
};

/// How a connection is encrypted. Files are in PEM format.
struct TlsOptions {
  TlsMode mode = TlsMode::off;
  std::string ca_file{};           ///< empty: the CAs that the system trusts
  std::string certificate_file{};  ///< of the client, where the server asks for one
  std::string key_file{};          ///< of the client's certificate
};

}  // namespace simba
