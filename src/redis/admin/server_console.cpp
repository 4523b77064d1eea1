#include "redis/admin/server_console.hpp"

#include <future>
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

std::shared_ptr<const ConnectionSettings> for_replicas(const ConnectionSettings& settings) {
  auto result = std::make_shared<ConnectionSettings>(settings);
  result->masters_only = false;
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

ServerConsole::ServerConsole(const RedisOptions& options, std::shared_ptr<const Runtime> runtime)
    : options_{options},
      settings_{checked_settings(options, runtime->log)},
      replica_settings_{for_replicas(*settings_)},
      sentinel_settings_{sentinel_settings(options)},
      runtime_{std::move(runtime)},
      io_{make_session_io(*runtime_)} {}

ServerConsole::~ServerConsole() {
  for (const auto& [server, link] : links_) link->close();
  io_.post([finder = finder_] {
    if (finder) finder->close();
  });
  io_.stop();
}

std::vector<Reply> ServerConsole::send(const Endpoint& server, const Settings& settings,
                                       const std::string& commands, std::size_t replies) {
  const bool used_before = links_.contains(server);
  auto& link = links_[server];
  if (!used_before) {
    link = std::make_shared<CommandLink>(Dialer{.runtime = runtime_,
                                                .post = io_.post,
                                                .open = io_.open,
                                                .source = std::make_shared<FixedEndpoint>(server),
                                                .settings = settings},
                                         nullptr);
  }
  auto promise = std::make_shared<std::promise<Replies>>();
  auto future = promise->get_future();
  link->send(commands, replies, [promise](const Replies& answer) { promise->set_value(answer); });
  try {
    return wait_for(future, settings->connect_timeout + settings->command_timeout, server);
  } catch (const Error& error) {
    // A link pauses after a failure, which contenders need and tools do not.
    link->close();
    links_.erase(server);
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

Reply ServerConsole::ask_replica(const Endpoint& server,
                                 std::initializer_list<std::string_view> words) {
  return send(server, replica_settings_, command(words), 1).at(0);
}

void ServerConsole::leave(const Endpoint& server) {
  if (const auto found = links_.find(server); found != links_.end()) found->second->leave();
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
    finder_ = std::make_shared<MasterFinder>(options_, io_.open);
  }
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  io_.post([finder = finder_, promise] {
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
