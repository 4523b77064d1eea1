#include "redis/connection/tls_context.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <openssl/x509v3.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "redis/connection/connection.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

void check_readable(std::string_view setting, const std::string& file) {
  if (::access(file.c_str(), R_OK) == 0) return;
  throw Error{ErrorKind::configuration, fmt::format("cannot read {} '{}': {}", setting, file,
                                                    std::generic_category().message(errno))};
}

void check(const asio::error_code& refused, std::string_view setting, const std::string& file,
           std::string_view wanted) {
  if (!refused) return;
  throw Error{ErrorKind::configuration, fmt::format("{} '{}' is invalid: {}; it must contain {}",
                                                    setting, file, refused.message(), wanted)};
}

void trust(asio::ssl::context& context, const TlsOptions& options) {
  if (options.mode == TlsMode::encrypt) {
    context.set_verify_mode(asio::ssl::verify_none);
    return;
  }
  context.set_verify_mode(asio::ssl::verify_peer);
  asio::error_code refused;
  if (options.ca_file.empty()) {
    context.set_default_verify_paths(refused);
    check(refused, "the system's trusted certificates", "", "certificates in PEM format");
    return;
  }
  check_readable("tls.ca_file", options.ca_file);
  context.load_verify_file(options.ca_file, refused);
  check(refused, "tls.ca_file", options.ca_file, "certificates in PEM format");
}

void identify(asio::ssl::context& context, const TlsOptions& options) {
  if (options.certificate_file.empty() && options.key_file.empty()) return;
  if (options.certificate_file.empty() || options.key_file.empty()) {
    throw Error{ErrorKind::configuration,
                "tls.certificate_file and tls.key_file must be set together"};
  }
  check_readable("tls.certificate_file", options.certificate_file);
  check_readable("tls.key_file", options.key_file);
  asio::error_code refused;
  context.use_certificate_chain_file(options.certificate_file, refused);
  check(refused, "tls.certificate_file", options.certificate_file, "a certificate in PEM format");
  context.use_private_key_file(options.key_file, asio::ssl::context::pem, refused);
  check(refused, "tls.key_file", options.key_file,
        "the key of tls.certificate_file in PEM format, without a passphrase");
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

std::shared_ptr<asio::ssl::context> make_tls_context(const TlsOptions& options) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // Else OpenSSL would ask for a pass phrase on the terminal.
  context->set_password_callback([](std::size_t, auto) { return std::string{}; });
  trust(*context, options);
  identify(*context, options);
  return context;
}

std::shared_ptr<asio::ssl::context> SharedTlsContext::get(const TlsOptions& options) {
  const std::lock_guard lock{mutex_};
  auto stamps = stamps_of(options);  // before: what changes meanwhile is read again next time
  if (!context_ || stamps != made_of_) {
    context_ = make_tls_context(options);
    made_of_ = std::move(stamps);
  }
  return context_;
}

std::vector<SharedTlsContext::Stamp> SharedTlsContext::stamps_of(const TlsOptions& options) {
  std::vector<Stamp> stamps;
  for (const std::string* file : {&options.ca_file, &options.certificate_file, &options.key_file}) {
    struct stat found {};
    Stamp& stamp = stamps.emplace_back();
    if (file->empty() || ::stat(file->c_str(), &found) != 0) continue;
    stamp = {static_cast<std::int64_t>(found.st_ino), found.st_size, found.st_mtim.tv_sec,
             found.st_mtim.tv_nsec};
  }
  return stamps;
}

std::shared_ptr<SharedTlsContext> make_shared_tls_context() {
  return std::make_shared<SharedTlsContext>();
}

void expect_host(SSL& ssl, TlsMode mode, const std::string& host) {
  const bool address = is_address(host);
  std::string name = host;
  // What the macro SSL_set_tlsext_host_name does, without its cast.
  const bool named = address || SSL_ctrl(&ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
                                         TLSEXT_NAMETYPE_host_name, name.data()) == 1;
  bool checked = true;
  if (mode == TlsMode::verify) {
    SSL_set_hostflags(&ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    checked = address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&ssl), host.c_str()) == 1
                      : SSL_set1_host(&ssl, host.c_str()) == 1;
  }
  if (named && checked) return;
  throw Error{ErrorKind::configuration,
              fmt::format("'{}' is not a host name that TLS can verify", host)};
}

std::string certificate_refusal(const SSL& ssl) {
  const long result = SSL_get_verify_result(&ssl);
  return result == X509_V_OK ? std::string{} : X509_verify_cert_error_string(result);
}

}  // namespace simba::redis
