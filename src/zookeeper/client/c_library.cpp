#include "zookeeper/client/c_library.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#if SIMBA_ZOOKEEPER_HAS_TLS
// The library's header shows it only to those that use OpenSSL themselves.
extern "C" zhandle_t* zookeeper_init_ssl(const char* hosts, const char* files, watcher_fn watcher,
                                         int timeout, const clientid_t* id, void* context,
                                         int flags);
#endif

namespace simba::zookeeper {

Code code_of(int answer) noexcept {
  switch (answer) {
    case ZOK:
      return Code::ok;
    case ZNONODE:
      return Code::no_node;
    case ZNODEEXISTS:
      return Code::node_exists;
    case ZBADVERSION:
      return Code::bad_version;
    case ZNOAUTH:
      return Code::no_auth;
    case ZUNIMPLEMENTED:
      return Code::unimplemented;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:  // the library tells these of requests that it has sent, too
    case ZSYSTEMERROR:
    case ZMARSHALLINGERROR:
    case ZSESSIONMOVED:  // the server that we come from does not have our session any more
      return Code::connection_loss;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:  // the handle is beyond repair
      return Code::session_expired;
    case ZCLOSING:
      return Code::closing;
    default:
      return Code::refused;
  }
}

NodeStat stat_of(const Stat* stat) noexcept {
  constexpr auto container = std::numeric_limits<std::int64_t>::min();  // in place of a session
  if (stat == nullptr) return {};
  return {.created_zxid = stat->czxid,
          .created_at = StoreTime{std::chrono::milliseconds{stat->ctime}},
          .session = stat->ephemeralOwner == container ? 0 : stat->ephemeralOwner,
          .version = stat->version};
}

std::string text_of(const char* text) { return text == nullptr ? std::string{} : text; }

std::string data_of(const char* data, int length) {
  if (data == nullptr || length <= 0) return {};
  return {data, static_cast<std::size_t>(length)};
}

std::vector<std::string> names_of(const String_vector* names) {
  std::vector<std::string> result;
  if (names == nullptr || names->data == nullptr || names->count <= 0) return result;
  for (std::int32_t i = 0; i < names->count; ++i) {
    if (names->data[i] != nullptr) result.emplace_back(names->data[i]);
  }
  return result;
}

bool open_to_all(const ACL_vector* entries) {
  if (entries == nullptr || entries->data == nullptr) return false;
  for (std::int32_t i = 0; i < entries->count; ++i) {
    const ACL& entry = entries->data[i];
    if ((entry.perms & ~ZOO_PERM_READ) != 0 && text_of(entry.id.scheme) == "world") return true;
  }
  return false;
}

namespace {

/// The library writes to standard error unless it is given a function for each line. That one has
/// no context, so it could reach our log through a global only; what matters comes as a code or an
/// event, too.
void discard(const char* /*line*/) {}

int mode_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::ephemeral_sequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
    case NodeKind::container:
      return ZOO_CONTAINER;
    case NodeKind::persistent:
      break;
  }
  return ZOO_PERSISTENT;
}

int as_int(std::size_t size) {
  return static_cast<int>(std::min(size, static_cast<std::size_t>(INT_MAX)));
}

}  // namespace

// ---- TLS ---------------------------------------------------------------------------------------

#if SIMBA_ZOOKEEPER_HAS_TLS

namespace {

void check_tls_file(const char* option, const std::string& file) {
  if (file.empty() || file.find(',') != std::string::npos) {
    throw Error{ErrorKind::configuration,
                fmt::format("`tls.{}` must be the name of a file, without a comma (got '{}')",
                            option, file)};
  }
}

zhandle_t* open_handle_with_tls(const std::string& hosts, const TlsOptions& tls, watcher_fn watcher,
                                int timeout, void* context, int flags) {
  const std::string files = tls.ca_file + "," + tls.certificate_file + "," + tls.key_file;
  zhandle_t* const handle =
      ::zookeeper_init_ssl(hosts.c_str(), files.c_str(), watcher, timeout, nullptr, context, flags);
  if (handle != nullptr) ::zoo_set_log_callback(handle, discard);
  return handle;
}

}  // namespace

void check_tls(const TlsOptions& tls) {
  if (!uses_tls(tls.mode)) return;
  if (tls.mode != TlsMode::verify_ca) {
    throw Error{ErrorKind::unsupported,
                "the ZooKeeper library always verifies the CA of the server's certificate and "
                "never its host name; set `tls.mode` to verify_ca or off"};
  }
  check_tls_file("ca_file", tls.ca_file);
  check_tls_file("certificate_file", tls.certificate_file);
  check_tls_file("key_file", tls.key_file);
}

#else

namespace {

zhandle_t* open_handle_with_tls(const std::string& /*hosts*/, const TlsOptions& /*tls*/,
                                watcher_fn /*watcher*/, int /*timeout*/, void* /*context*/,
                                int /*flags*/) {
  errno = ENOTSUP;
  return nullptr;
}

}  // namespace

void check_tls(const TlsOptions& tls) {
  if (!uses_tls(tls.mode)) return;
  throw Error{ErrorKind::unsupported,
              "the ZooKeeper library that Simba was built with does not support TLS; set "
              "`tls.mode` to off, "
              "or build Simba with a ZooKeeper library that has zookeeper_init_ssl"};
}

#endif

// ---- a handle ----------------------------------------------------------------------------------

std::string hosts_for_library(std::string_view hosts) {
  std::string result;
  for (const Server& server : servers_in(hosts)) {
    if (!result.empty()) result += ',';
    result.append(server.host).append(":").append(server.port);
  }
  return result;
}

zhandle_t* open_handle(const Settings& settings, watcher_fn watcher, void* context) {
  const std::string hosts = hosts_for_library(settings.hosts);
  const auto timeout = static_cast<int>(
      std::min<std::chrono::milliseconds::rep>(settings.session_timeout.count(), INT_MAX));
  // Not ZOO_READONLY: a server that has lost the others cannot tell who owns what.
  constexpr int flags = ZOO_NO_LOG_CLIENTENV;
  zhandle_t* const handle =
      uses_tls(settings.tls.mode)
          ? open_handle_with_tls(hosts, settings.tls, watcher, timeout, context, flags)
          : ::zookeeper_init2(hosts.c_str(), watcher, timeout, nullptr, context, flags, discard);
  // Names are looked up when a connection is lost. By default the library does so at each request
  // and each answer as well.
  if (handle != nullptr) ::zoo_set_servers_resolution_delay(handle, -1);
  return handle;
}

Error error_of_opening(const Settings& settings, int reason) {
  // The library has no other code for a name service that is out of order.
  if (reason == ENOENT || reason == EINVAL) {
    return {ErrorKind::unavailable,
            fmt::format("cannot resolve any ZooKeeper host of '{}'; check `connect_string` and DNS",
                        settings.hosts)};
  }
  return {ErrorKind::unavailable,
          fmt::format("cannot open a session with ZooKeeper at '{}': {}", settings.hosts,
                      std::generic_category().message(reason))};
}

bool add_credentials(zhandle_t* handle, const Settings& settings) {
  if (settings.digest_user.empty()) return true;
  const std::string& password = settings.digest_password.reveal();
  std::string credentials;
  credentials.reserve(settings.digest_user.size() + 1 + password.size());  // leaves no copy behind
  credentials.append(settings.digest_user).append(":").append(password);
  const int answer = ::zoo_add_auth(handle, "digest", credentials.c_str(),
                                    as_int(credentials.size()), nullptr, nullptr);
  ::explicit_bzero(credentials.data(), credentials.size());
  return answer == ZOK;
}

Error error_of_authentication(const Settings& settings) {
  return {ErrorKind::authentication,
          fmt::format("ZooKeeper at '{}' rejected the digest user '{}'; check `digest_user` and "
                      "`digest_password`",
                      settings.hosts, settings.digest_user)};
}

namespace {

/// Who may use new nodes. The second entry is for those that may look only.
class Acl {
 public:
  explicit Acl(NodeAcl acl)
      : entries_{ACL{.perms = ZOO_PERM_ALL,
                     .id = acl == NodeAcl::open ? ZOO_ANYONE_ID_UNSAFE : ZOO_AUTH_IDS},
                 ACL{.perms = ZOO_PERM_READ, .id = ZOO_ANYONE_ID_UNSAFE}},
        list_{.count = acl == NodeAcl::creator_others_read ? 2 : 1, .data = entries_.data()} {}
  Acl(const Acl&) = delete;
  Acl& operator=(const Acl&) = delete;

  const ACL_vector* list() const noexcept { return &list_; }

 private:
  std::array<ACL, 2> entries_;
  ACL_vector list_;
};

}  // namespace

int create_node(zhandle_t* handle, const std::string& path, const std::string& data, NodeKind kind,
                NodeAcl acl, string_stat_completion_t completion, const void* context) {
  const Acl who{acl};
  return ::zoo_acreate2(handle, path.c_str(), data.data(), as_int(data.size()), who.list(),
                        mode_of(kind), completion, context);
}

int write_node(zhandle_t* handle, const NodeWrite& write, NodeAcl acl, WriteResults& results,
               void_completion_t completion, const void* context) {
  constexpr int any_version = -1;
  const Acl who{acl};
  std::array<zoo_op_t, results_of_write> operations{};
  std::size_t count = 0;
  if (!write.provided.empty()) {
    ::zoo_check_op_init(&operations.at(count++), write.provided.c_str(), any_version);
  }
  zoo_op_t& operation = operations.at(count++);
  const int size = as_int(write.data.size());
  if (write.replaces) {
    ::zoo_set_op_init(&operation, write.path.c_str(), write.data.data(), size, *write.replaces,
                      nullptr);
  } else {
    ::zoo_create_op_init(&operation, write.path.c_str(), write.data.data(), size, who.list(),
                         ZOO_PERSISTENT, nullptr, 0);
  }
  return ::zoo_amulti(handle, static_cast<int>(count), operations.data(), results.data(),
                      completion, context);
}

}  // namespace simba::zookeeper
