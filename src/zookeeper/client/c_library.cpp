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

#include "zookeeper/client/c_tls.hpp"

namespace simba::zookeeper {

Code code_of(int answer) noexcept {
  switch (answer) {
    case ZOK:
      return Code::ok;
    case ZNONODE:
      return Code::no_node;
    case ZNODEEXISTS:
      return Code::node_exists;
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
          .session = stat->ephemeralOwner == container ? 0 : stat->ephemeralOwner};
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

std::string hosts_for_library(std::string_view hosts) {
  std::string result;
  for (std::size_t at = 0; at <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    const std::string_view host = hosts.substr(at, end - at);
    const bool has_port = host.find(':') != std::string_view::npos && !host.ends_with(']');
    result.append(at == 0 ? "" : ",").append(host).append(has_port ? "" : ":2181");
    at = end + 1;
  }
  std::erase_if(result, [](char c) { return c == '[' || c == ']'; });
  return result;
}

zhandle_t* open_handle(const Settings& settings, watcher_fn watcher, void* context) {
  const std::string hosts = hosts_for_library(settings.hosts);
  const auto timeout = static_cast<int>(
      std::min<std::chrono::milliseconds::rep>(settings.session_timeout.count(), INT_MAX));
  // Not ZOO_READONLY: a server that has lost the others cannot tell who owns what.
  constexpr int flags = ZOO_NO_LOG_CLIENTENV;
  zhandle_t* const handle =
      settings.tls.mode == TlsMode::off
          ? ::zookeeper_init2(hosts.c_str(), watcher, timeout, nullptr, context, flags, discard)
          : open_handle_with_tls(hosts, settings.tls, watcher, timeout, context, flags, discard);
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

int create_node(zhandle_t* handle, const std::string& path, const std::string& data, NodeKind kind,
                NodeAcl acl, string_stat_completion_t completion, const void* context) {
  // The second one is for those that may look only.
  std::array<ACL, 2> entries{
      ACL{.perms = ZOO_PERM_ALL, .id = acl == NodeAcl::open ? ZOO_ANYONE_ID_UNSAFE : ZOO_AUTH_IDS},
      ACL{.perms = ZOO_PERM_READ, .id = ZOO_ANYONE_ID_UNSAFE}};
  const ACL_vector list{.count = acl == NodeAcl::creator_others_read ? 2 : 1,
                        .data = entries.data()};
  return ::zoo_acreate2(handle, path.c_str(), data.data(), as_int(data.size()), &list,
                        mode_of(kind), completion, context);
}

}  // namespace simba::zookeeper
