// Lets a store find its servers by sentinels or a cluster that answer whatever the input says. The
// first byte chooses: its lowest bit the cluster, the next a list of permitted hosts in place of a
// password. The rest is what comes over the wire, a reply to each command in turn, whoever is
// asked.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plain_password.hpp"
#include "fuzz/support.hpp"
#include "redis/protocol/resp_reader.hpp"
#include "redis/session.hpp"
#include "redis/settings.hpp"
#include "simba/core/error.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using fuzz::check;

constexpr std::string_view secret = "hunter2";

RedisOptions options_of(unsigned bits) {
  RedisOptions options;
  options.topology = (bits & 1U) != 0 ? Topology::cluster : Topology::sentinel;
  options.endpoints = {{.port = 7000}, {.port = 7001}};
  options.client_name = "";
  if ((bits & 2U) != 0) {
    options.permitted_hosts = {"10.0.3.*"};
  } else {
    options.password = Secret{std::string{secret}};
  }
  return options;
}

/// The servers that the store knows, and all that it may learn of.
class Network {
 public:
  Network(unsigned bits, std::string_view bytes) : guarded_{(bits & 2U) == 0} {
    reader_.feed(bytes);
  }

  OpenConnection opener() { return connections_.opener(); }

  /// Answers what is asked now. False: there is nothing left to say, or nobody to say it to.
  bool answer() {
    bool said = false;
    const auto opened = connections_.opened;  // an answer may open more
    for (const auto& connection : opened) {
      check_endpoint(*connection);
      if (connection->closed()) continue;
      connection->become_ready();
      if (connection->use == Connection::Use::subscriptions) {
        if (auto reply = next(); reply && !connection->closed()) {
          connection->message(*reply);
          said = true;
        }
        continue;
      }
      while (!connection->closed() && connection->pending() > 0) {
        std::vector<Reply> replies;
        while (replies.size() < connection->wanted()) {
          auto reply = next();
          if (!reply) return false;
          replies.push_back(std::move(*reply));
        }
        connection->answer(std::move(replies));
        said = true;
      }
    }
    check(connections_.opened.size() <= most_connections, "nobody is connected to without end");
    return said;
  }

 private:
  static constexpr std::size_t most_connections = 2'000;

  void check_endpoint(const FakeConnection& connection) const {
    const std::string& host = connection.endpoint.host;
    check(guarded_ ? !host.starts_with('/') && detail::is_this_host(host)
                   : host == "127.0.0.1" || host.starts_with("10.0.3."),
          "a stranger is not connected to");
    check(connection.endpoint.unix_socket.empty(), "nobody is referred to a file");
  }

  std::optional<Reply> next() {
    try {
      return reader_.next();
    } catch (const Error&) {  // of the reader, which has a target of its own
      return std::nullopt;
    }
  }

  const bool guarded_;
  RespReader reader_{RespLimits{.bytes = 4'096, .elements = 256}};
  FakeConnections connections_{};
};

void check_answer(const engine::LeaseAnswer& answer) {
  if (const auto* const error = answer.error()) {
    check(fuzz::prints(error->what()) && std::string_view{error->what()}.size() <= 4'000,
          "an error can be logged");
    check(std::string_view{error->what()}.find(secret) == std::string_view::npos,
          "a password is never shown");
  }
}

void run_redis_routing(std::string_view bytes) {
  const unsigned bits = bytes.empty() ? 0U : static_cast<unsigned char>(bytes.front());
  if (!bytes.empty()) bytes.remove_prefix(1);
  if (bytes.find(secret) != std::string_view::npos) return;  // which they were not told
  const RedisOptions options = options_of(bits);
  testkit::ManualRuntime world;
  Network network{bits, bytes};
  int answers = 0;
  int asked = 0;
  {
    Session session{
        options, checked_settings(options), world.runtime(),
        SessionIo{.post = [loop = world.runtime()->callbacks](
                              std::function<void()> task) { loop->execute(std::move(task)); },
                  .open = network.opener(),
                  .stop = [] {}}};
    const engine::LeaseRequest request{
        .mutex = "m", .contender_id = "me", .ttl = 10s, .transition = 6s};
    const auto watch = session.watch(request, [](const auto&) {});
    for (int round = 0; round < 20; ++round) {
      if (round % 4 == 0) {
        ++asked;
        std::make_shared<ScriptRequest>(session.context(), ScriptRequest::Kind::acquire, request, 0,
                                        [&answers](const engine::LeaseAnswer& answer) {
                                          ++answers;
                                          check_answer(answer);
                                        })
            ->send();
      }
      world.run_ready();
      if (!network.answer()) world.advance(700ms);
    }
  }
  world.run_ready();
  check(answers == asked, "every request is answered once");
}

}  // namespace
}  // namespace simba::redis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::redis::run_redis_routing({reinterpret_cast<const char*>(data), size});
  return 0;
}
