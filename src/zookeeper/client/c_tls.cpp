#include "zookeeper/client/c_tls.hpp"

#include <cerrno>

#include "simba/core/error.hpp"
#include "zookeeper/client/c_connector.hpp"

#if SIMBA_ZOOKEEPER_HAS_TLS

#include <fmt/format.h>

// The library's header shows it only to those that use OpenSSL themselves.
extern "C" zhandle_t* zookeeper_init_ssl(const char* hosts, const char* files, watcher_fn watcher,
                                         int timeout, const clientid_t* id, void* context,
                                         int flags);

namespace simba::zookeeper {
namespace {

void check_file(const char* option, const std::string& file) {
  if (file.empty() || file.find(',') != std::string::npos) {
    throw Error{ErrorKind::configuration,
                fmt::format("`tls.{}` must be the name of a file, without a comma (got '{}')",
                            option, file)};
  }
}

}  // namespace

void check_tls(const TlsOptions& tls) {
  if (tls.mode == TlsMode::off) return;
  if (tls.mode != TlsMode::verify_ca) {
    throw Error{ErrorKind::unsupported,
                "the ZooKeeper library always verifies the CA of the server's certificate and "
                "never its host name; set `tls.mode` to verify_ca or off"};
  }
  check_file("ca_file", tls.ca_file);
  check_file("certificate_file", tls.certificate_file);
  check_file("key_file", tls.key_file);
}

zhandle_t* open_handle_with_tls(const std::string& hosts, const TlsOptions& tls, watcher_fn watcher,
                                int timeout, void* context, int flags, log_callback_fn log) {
  const std::string files = tls.ca_file + "," + tls.certificate_file + "," + tls.key_file;
  zhandle_t* const handle =
      ::zookeeper_init_ssl(hosts.c_str(), files.c_str(), watcher, timeout, nullptr, context, flags);
  if (handle != nullptr) ::zoo_set_log_callback(handle, log);
  return handle;
}

}  // namespace simba::zookeeper

#else

namespace simba::zookeeper {

void check_tls(const TlsOptions& tls) {
  if (tls.mode == TlsMode::off) return;
  throw Error{ErrorKind::unsupported,
              "the ZooKeeper library that Simba was built with does not support TLS; set "
              "`tls.mode` to off, "
              "or build Simba with a ZooKeeper library that has zookeeper_init_ssl"};
}

zhandle_t* open_handle_with_tls(const std::string& /*hosts*/, const TlsOptions& /*tls*/,
                                watcher_fn /*watcher*/, int /*timeout*/, void* /*context*/,
                                int /*flags*/, log_callback_fn /*log*/) {
  errno = ENOTSUP;
  return nullptr;
}

}  // namespace simba::zookeeper

#endif
