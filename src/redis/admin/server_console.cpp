#include "redis/admin/server_console.hpp"

#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/server_error.hpp"
#include "redis/settings.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using std::chrono::milliseconds;

/// Beyond the timeouts, which answer everything by themselves: a name server takes time, too.
constexpr milliseconds slack = std::chrono::seconds{30};

constexpr int most_console_redirections = 5;

/// Without what only contenders need, and may lack the right for.
std::shared_ptr<const ConnectionSettings> plain(const ConnectionSettings& settings) {
  auto result = std::make_shared<ConnectionSettings>(settings);
  result->scripts.clear();
  return result;
}

template <class T>
T wait_for(std::future<std::variant<T, Error>>& future, milliseconds span, const Endpoint& server) {
  if (future.wait_for(span + slack) != std::future_status::ready) {
    throw Error{ErrorKind::timeout, fmt::format("{} did not answer in time", place_of(server))};
  }
  auto result = future.get();
  if (const auto* error = std::get_if<Error>(&result)) throw Error{*error};
  return std::get<T>(std::move(result));
}

/// The first reply that refers to another server.
std::optional<ServerError> referral(const std::vector<Reply>& replies) {
  for (const Reply& reply : replies) {
    if (!reply.is(Reply::Type::error)) continue;
    auto error = parse_server_error(reply.text);
    if (error.code == ServerError::Code::moved || error.code == ServerError::Code::ask) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string place_of(const Endpoint& server) { return "Redis at " + to_string(server); }

ServerConsole::ServerConsole(const RedisOptions& options,
                             const std::shared_ptr<const Runtime>& runtime)
    : options_{options},
      settings_{plain(*checked_settings(options))},
      sentinel_settings_{sentinel_settings(options)},
      io_{std::make_shared<IoThread>("simba-redis", std::make_shared<detail::ThreadGroup>(),
                                     runtime->log)} {}

ServerConsole::~ServerConsole() {
  for (const auto& [endpoint, connection] : connections_) connection->close();
  io_->post([finder = finder_] {
    if (finder) finder->close();
  });
  io_->stop();
}

/// Returns when it is logged in.
std::shared_ptr<Connection> ServerConsole::open(const Endpoint& server, const Settings& settings) {
  using Opened = std::variant<std::monostate, Error>;
  struct State {
    std::once_flag once{};  // it may break after it was ready
    std::promise<Opened> opened{};
  };
  auto state = std::make_shared<State>();
  auto future = state->opened.get_future();
  const auto tell = [state](const Opened& opened) {
    std::call_once(state->once, [&] { state->opened.set_value(opened); });
  };
  auto connection = Connection::open(
      io_->loop(), server, settings, Connection::Use::commands,
      {.on_ready = [tell](const std::vector<std::string>&) { tell(std::monostate{}); },
       .on_closed = [tell](const Error& error) { tell(error); }});
  try {
    wait_for(future, settings->connect_timeout, server);
  } catch (const Error&) {
    connection->close();
    throw;
  }
  return connection;
}

std::vector<Reply> ServerConsole::send(const Endpoint& server, const Settings& settings,
                                       const std::string& commands, std::size_t replies) {
  using Answer = std::variant<std::vector<Reply>, Error>;
  const bool used_before = connections_.contains(server);
  if (!used_before) connections_.emplace(server, open(server, settings));
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  connections_.at(server)->send(commands, replies,
                                [promise](const Replies& answer) { promise->set_value(answer); });
  try {
    return wait_for(future, settings->command_timeout, server);
  } catch (const Error& error) {
    leave(server);
    // One that broke while nobody used it: nothing was sent.
    if (!used_before || error.kind() != ErrorKind::unavailable) throw;
  }
  return send(server, settings, commands, replies);
}

std::vector<Reply> ServerConsole::ask(const Endpoint& server, const std::string& commands,
                                      std::size_t replies) {
  return send(server, settings_, commands, replies);
}

Reply ServerConsole::ask(const Endpoint& server, std::initializer_list<std::string_view> words) {
  return send(server, settings_, command(words), 1).at(0);
}

void ServerConsole::leave(const Endpoint& server) {
  const auto found = connections_.find(server);
  if (found == connections_.end()) return;
  found->second->close();
  connections_.erase(found);
}

Reply ServerConsole::ask_sentinel(const Endpoint& sentinel,
                                  std::initializer_list<std::string_view> words) {
  return send(sentinel, sentinel_settings_, command(words), 1).at(0);
}

std::vector<Reply> ServerConsole::ask_about(const std::string& mutex, const std::string& commands,
                                            std::size_t replies) {
  Endpoint server = server_of(mutex);
  bool asking = false;
  for (int hops = 0;; ++hops) {
    auto answer = asking ? ask(server, command({"ASKING"}) + commands, replies + 1)
                         : ask(server, commands, replies);
    if (asking) answer.erase(answer.begin());
    const auto elsewhere = referral(answer);
    if (!elsewhere || options_.topology != Topology::cluster || hops == most_console_redirections) {
      return answer;
    }
    asking = elsewhere->code == ServerError::Code::ask;
    if (!elsewhere->endpoint.host.empty()) server = elsewhere->endpoint;
    if (!asking) map_.moved(elsewhere->slot, server);
  }
}

std::vector<Endpoint> ServerConsole::masters() {
  switch (options_.topology) {
    case Topology::sentinel:
      return {find_master()};
    case Topology::cluster:
      read_map();
      return map_.nodes();
    case Topology::single:
      break;
  }
  return {options_.endpoints.front()};
}

Endpoint ServerConsole::find_master() {
  using Answer = std::variant<Endpoint, Error>;
  if (!finder_) {
    finder_ = std::make_shared<MasterFinder>(
        options_, [loop = io_->loop()](const Endpoint& endpoint, auto with, auto use, auto events) {
          return Connection::open(loop, endpoint, std::move(with), use, std::move(events));
        });
  }
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  io_->post([finder = finder_, promise] {
    finder->find([promise](const Answer& answer) { promise->set_value(answer); });
  });
  const auto sentinels = static_cast<int>(options_.endpoints.size());
  return wait_for(future, 2 * sentinels * options_.connect_timeout, options_.endpoints.front());
}

void ServerConsole::read_map() {
  std::optional<Error> refused;
  for (const Endpoint& seed : options_.endpoints) {
    try {
      auto answer = parse_cluster_slots(ask(seed, {"CLUSTER", "SLOTS"}), seed);
      if (auto* map = std::get_if<ClusterMap>(&answer); map != nullptr && map->served() > 0) {
        map_ = std::move(*map);
        return;
      }
      refused = std::holds_alternative<Error>(answer)
                    ? std::get<Error>(answer)
                    : Error{ErrorKind::unavailable,
                            fmt::format("{}: the cluster serves no slots; has it been created?",
                                        place_of(seed))};
    } catch (const Error& error) {
      refused = error;
    }
  }
  throw Error{*refused};  // there is at least one endpoint
}

Endpoint ServerConsole::server_of(const std::string& mutex) {
  if (options_.topology != Topology::cluster) return masters().front();
  const std::uint16_t slot = slot_of(lock_name(mutex));
  if (!map_.find(slot)) read_map();
  if (const auto server = map_.find(slot)) return *server;
  throw Error{ErrorKind::unavailable, fmt::format("the cluster does not serve the slot of mutex "
                                                  "\"{}\"; check CLUSTER INFO for missing nodes",
                                                  mutex)};
}

}  // namespace simba::redis
