#include "redis/routing/node.hpp"

#include <utility>

#include "redis/protocol/script.hpp"

namespace simba::redis {

Node::Node(const Dialer& dialer, Subscriptions::Grants grants, Endpoint expected,
           Confirmation confirmation)
    : connected_server_{std::make_shared<ConnectedServer>()},
      subscriber_{std::make_shared<Subscriber>(dialer, grants)},
      commands_{std::make_shared<CommandLink>(
          dialer,
          [server = connected_server_,
           subscriber = std::weak_ptr{subscriber_}](const Endpoint& endpoint) {
            std::function<void()> told;
            {
              const std::lock_guard lock{server->mutex};
              server->endpoint = endpoint;
              told = server->on_connected;
            }
            if (const auto alive = subscriber.lock()) alive->follow(endpoint);
            if (told) told();
          })},
      replicated_{std::make_shared<ReplicatedBatches>(commands_, confirmation)} {
  connected_server_->endpoint = std::move(expected);
  subscriber_->on_unclaimed(
      [weak = std::weak_ptr{commands_}, topology = dialer.topology,
       retention = dialer.token_retention](const Subscriptions::Unclaimed& grant) {
        const auto commands = weak.lock();
        if (!commands) return;
        const auto release =
            ScriptCall::release({.mutex = grant.mutex, .contender_id = grant.contender_id},
                                grant.token, topology, retention);
        // Where it fails the lease runs out.
        commands->send(release.by_text(), 1, [](const Replies& /*replies*/) {});
      });
}

void Node::on_connected(std::function<void()> told) {
  const std::lock_guard lock{connected_server_->mutex};
  connected_server_->on_connected = std::move(told);
}

Endpoint Node::endpoint() const {
  const std::lock_guard lock{connected_server_->mutex};
  return connected_server_->endpoint;
}

std::string Node::where() const { return "Redis at " + to_string(endpoint()); }

void Node::leave() {
  commands_->leave();
  subscriber_->leave();
}

void Node::refused(const Error& error) {
  commands_->refused(error);
  subscriber_->refused(error);
}

void Node::close() {
  commands_->close();
  subscriber_->close();
}

}  // namespace simba::redis
