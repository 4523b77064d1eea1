#include "support/zookeeper/zookeeper_console.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <climits>
#include <future>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <zookeeper/zookeeper.h>

#include <fmt/format.h>

#include "support/zookeeper/zookeeper_servers.hpp"

namespace simba::support {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds limit{30};

[[noreturn]] void fail(std::string_view what, const std::string& path, int code) {
  throw std::runtime_error{fmt::format("{} {}: {}", what, path, zerror(code))};
}

/// Throws unless `code` is one of those that are expected.
void check(std::string_view what, const std::string& path, int code, int also = ZOK) {
  if (code != ZOK && code != also) {
    fail(what, path, code);
  }
}

/// Nothing is told: functions ask for the state.
void ignore_event(zhandle_t* /*handle*/, int /*type*/, int /*state*/, const char* /*path*/,
                  void* /*context*/) {}
void ignore_log(const char* /*message*/) {}

/// Returns when the session is there, or the servers have refused it for good: then null. Throws if
/// neither comes.
zhandle_t* connect(const std::string& servers, std::chrono::milliseconds session_timeout,
                   const clientid_t* id) {
  zhandle_t* handle =
      ::zookeeper_init2(servers.c_str(), &ignore_event, static_cast<int>(session_timeout.count()),
                        id, nullptr, 0, &ignore_log);
  if (handle == nullptr) {
    return nullptr;
  }
  for (const auto deadline = Clock::now() + limit; ::zoo_state(handle) != ZOO_CONNECTED_STATE;) {
    const bool refused = ::is_unrecoverable(handle) != ZOK;
    if (refused || Clock::now() > deadline) {
      ::zookeeper_close(handle);
      if (!refused) {
        throw std::runtime_error{fmt::format("{} do not answer", servers)};
      }
      return nullptr;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return handle;
}

/// The password that servers give to a session follows from its number: the first bytes that Java's
/// java.util.Random gives with this seed.
void fill_password(clientid_t& id) {
  constexpr std::uint64_t mask = (1ULL << 48U) - 1;
  constexpr std::uint64_t factor = 0x5DEECE66DULL;
  std::uint64_t state =
      ((static_cast<std::uint64_t>(id.client_id) ^ 0xB3415C00ULL) ^ factor) & mask;
  for (std::size_t i = 0; i < sizeof id.passwd;) {
    state = (state * factor + 0xBULL) & mask;
    auto word = static_cast<std::uint32_t>(state >> 16U);
    for (int byte = 0; byte < 4 && i < sizeof id.passwd; ++byte, word >>= 8U) {
      id.passwd[i++] = static_cast<char>(word & 0xFFU);
    }
  }
}

std::string_view sequence_of(std::string_view name) {
  return name.substr(name.size() - std::min<std::size_t>(name.size(), 10));
}

std::int64_t number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  static_cast<void>(end);
  return error == std::errc{} ? static_cast<std::int64_t>(value) : -1;
}

/// The number after `key`; 0 where the key is not there.
std::int64_t number_after(std::string_view text, std::string_view key, int base = 10) {
  const auto found = text.find(key);
  return found == std::string_view::npos ? 0 : number(text.substr(found + key.size()), base);
}

std::vector<std::uint16_t> ports_of(const Location& location) {
  return location.ports.empty() ? std::vector{location.port} : location.ports;
}

}  // namespace

void ZooKeeperConsole::Close::operator()(_zhandle* handle) const noexcept {
  ::zookeeper_close(handle);
}

ZooKeeperConsole::ZooKeeperConsole(const Location& location,
                                   std::chrono::milliseconds session_timeout)
    : servers_{connect_string(location)}, handle_{connect(servers_, session_timeout, nullptr)} {
  if (!handle_) {
    throw std::runtime_error{fmt::format("no session with {}", servers_)};
  }
}

ZooKeeperConsole::~ZooKeeperConsole() = default;

std::vector<std::string> ZooKeeperConsole::children(const std::string& path) {
  String_vector found{};
  check("list", path, ::zoo_get_children(handle_.get(), path.c_str(), 0, &found), ZNONODE);
  std::vector<std::string> names(found.data, found.data + found.count);
  ::deallocate_String_vector(&found);
  std::sort(names.begin(), names.end(), [](const auto& one, const auto& other) {
    return std::pair{sequence_of(one), one} < std::pair{sequence_of(other), other};
  });
  return names;
}

std::optional<ZooKeeperNode> ZooKeeperConsole::node(const std::string& path) {
  std::string data(4'096, '\0');
  int size = static_cast<int>(data.size());
  Stat stat{};
  const int code = ::zoo_get(handle_.get(), path.c_str(), 0, data.data(), &size, &stat);
  check("get", path, code, ZNONODE);
  if (code == ZNONODE) {
    return std::nullopt;
  }
  data.resize(static_cast<std::size_t>(std::max(size, 0)));
  return ZooKeeperNode{.data = std::move(data),
                       .created_zxid = stat.czxid,
                       .created_at = stat.ctime,
                       .owner = stat.ephemeralOwner,
                       .version = stat.version,
                       .children = stat.numChildren};
}

std::vector<std::string> ZooKeeperConsole::line(const std::string& path) {
  std::vector<std::string> waiters;
  for (const auto& name : children(path)) {
    if (auto child = node(path + '/' + name)) {
      waiters.push_back(std::move(child->data));
    }
  }
  return waiters;
}

std::string ZooKeeperConsole::try_create(const std::string& path, const std::string& data,
                                         ZooKeeperNodeKind kind) {
  int mode = ZOO_PERSISTENT;
  if (kind != ZooKeeperNodeKind::persistent) {
    mode = kind == ZooKeeperNodeKind::ephemeral ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL;
  }
  std::string created(path.size() + 32, '\0');
  const int code =
      ::zoo_create(handle_.get(), path.c_str(), data.data(), static_cast<int>(data.size()),
                   &ZOO_OPEN_ACL_UNSAFE, mode, created.data(), static_cast<int>(created.size()));
  check("create", path, code, ZNONODE);
  return code == ZOK ? std::string{created.c_str()} : std::string{};
}

std::string ZooKeeperConsole::create(const std::string& path, const std::string& data,
                                     ZooKeeperNodeKind kind) {
  for (;;) {
    if (auto created = try_create(path, data, kind); !created.empty()) {
      return created;
    }
    const auto parent = path.substr(0, path.rfind('/'));
    if (parent.empty()) {
      fail("create", path, ZNONODE);
    }
    try {
      create(parent, "");
    } catch (const std::runtime_error&) {
      // Someone else may have created it.
      if (!exists(parent)) {
        throw;
      }
    }
  }
}

void ZooKeeperConsole::set(const std::string& path, const std::string& data) {
  check("set", path,
        ::zoo_set(handle_.get(), path.c_str(), data.data(), static_cast<int>(data.size()), -1));
}

bool ZooKeeperConsole::remove(const std::string& path) {
  const int code = ::zoo_delete(handle_.get(), path.c_str(), -1);
  check("remove", path, code, ZNONODE);
  return code == ZOK;
}

void ZooKeeperConsole::sync() {
  std::promise<int> done;
  const auto tell = [](int code, const char* /*path*/, const void* context) {
    // NOLINTNEXTLINE(*-const-cast): the interface of the library
    static_cast<std::promise<int>*>(const_cast<void*>(context))->set_value(code);
  };
  check("sync", "/", ::zoo_async(handle_.get(), "/", tell, &done));
  check("sync", "/", done.get_future().get());
}

std::int64_t ZooKeeperConsole::session() const { return ::zoo_client_id(handle_.get())->client_id; }

void ZooKeeperConsole::end_session(std::int64_t session) {
  clientid_t id{};
  id.client_id = session;
  fill_password(id);
  zhandle_t* theirs = connect(servers_, limit, &id);
  if (theirs == nullptr) {
    throw std::runtime_error{fmt::format("there is no session {:x}", session)};
  }
  // Its user may take it back before the request to end it is read, so ask until it is gone.
  for (; theirs != nullptr; theirs = connect(servers_, limit, &id)) {
    ::zookeeper_close(theirs);
  }
  sync();
}

std::vector<ZooKeeperConnection> zookeeper_connections(const Location& location) {
  std::vector<ZooKeeperConnection> connections;
  for (const auto port : ports_of(location)) {
    const auto text = four_letter_word(port, "cons");
    for (std::string_view rest = text; !rest.empty();) {
      const auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.find("sid=0x") != std::string_view::npos) {
        connections.push_back({.session = number_after(line, "sid=0x", 16),
                               .received = number_after(line, "recved="),
                               .sent = number_after(line, "sent=")});
      }
    }
  }
  return connections;
}

std::int64_t zookeeper_figure(std::uint16_t port, const std::string& name) {
  const auto text = '\n' + four_letter_word(port, "mntr");
  const auto key = fmt::format("\n{}\t", name);
  return text.find(key) == std::string::npos ? -1 : number_after(text, key);
}

std::int64_t zookeeper_packets(const Location& location) {
  std::int64_t sum = 0;
  for (const auto port : ports_of(location)) {
    sum += std::max<std::int64_t>(zookeeper_figure(port, "zk_packets_received"), 0);
  }
  return sum;
}

}  // namespace simba::support
