#pragma once

#include <memory>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/// What a server needs to offer TLS without being anybody.
namespace simba::support {

template <auto Free>
struct OpenSslDeleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using OwnKey = std::unique_ptr<EVP_PKEY, OpenSslDeleter<EVP_PKEY_free>>;

inline OwnKey new_own_key() { return OwnKey{EVP_RSA_gen(2048)}; }

/// Sets the key, and a certificate of it that is signed by nobody.
inline void use_own_certificate(SSL_CTX* context, EVP_PKEY* key) {
  const std::unique_ptr<X509, OpenSslDeleter<X509_free>> certificate{::X509_new()};
  ::X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3'600);
  ::X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3'600);
  ::X509_set_pubkey(certificate.get(), key);
  ::X509_sign(certificate.get(), key, ::EVP_sha256());
  ::SSL_CTX_use_PrivateKey(context, key);
  ::SSL_CTX_use_certificate(context, certificate.get());
}

}  // namespace simba::support
