#include "redis/node.hpp"

#include <utility>

namespace simba::redis {

Node::Node(const Dialer& dialer, Subscriptions::Grants grants, Endpoint expected)
    : whereabouts_{std::make_shared<Whereabouts>()},
      subscriber_{std::make_shared<Subscriber>(dialer, grants)},
      commands_{std::make_shared<CommandLink>(
          dialer, [whereabouts = whereabouts_,
                   subscriber = std::weak_ptr{subscriber_}](const Endpoint& endpoint) {
            {
              const std::lock_guard lock{whereabouts->mutex};
              whereabouts->endpoint = endpoint;
            }
            if (const auto alive = subscriber.lock()) alive->follow(endpoint);
          })} {
  whereabouts_->endpoint = std::move(expected);
}

Endpoint Node::endpoint() const {
  const std::lock_guard lock{whereabouts_->mutex};
  return whereabouts_->endpoint;
}

std::string Node::where() const { return "Redis at " + to_string(endpoint()); }

void Node::leave() {
  commands_->leave();
  subscriber_->leave();
}

void Node::close() {
  commands_->close();
  subscriber_->close();
}

}  // namespace simba::redis
