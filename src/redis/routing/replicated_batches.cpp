#include "redis/routing/replicated_batches.hpp"

#include <utility>
#include <variant>

#include "redis/protocol/command.hpp"

namespace simba::redis {

ReplicatedBatches::ReplicatedBatches(std::shared_ptr<CommandLink> commands,
                                     Confirmation confirmation)
    : link_{std::move(commands)},
      wait_{command({"WAIT", std::to_string(confirmation.replicas),
                     std::to_string(confirmation.timeout.count())})} {}

void ReplicatedBatches::send(std::string commands, std::size_t replies, RepliesHandler handler) {
  {
    const std::lock_guard lock{mutex_};
    if (under_way_) {
      commands_ += commands;
      parts_.push_back({.replies = replies, .handler = std::move(handler)});
      return;
    }
    under_way_ = true;
  }
  std::vector<Part> alone;
  alone.push_back({.replies = replies, .handler = std::move(handler)});
  send_batch(std::move(commands), std::move(alone));
}

void ReplicatedBatches::send_batch(std::string commands, std::vector<Part> parts) {
  std::size_t replies = 1;
  for (const Part& part : parts) replies += part.replies;
  link_->send(std::move(commands += wait_), replies,
              [self = shared_from_this(), sent = std::move(parts)](const Replies& answer) {
                self->send_next();
                const auto* list = std::get_if<std::vector<Reply>>(&answer);
                auto from = list != nullptr ? list->begin() : std::vector<Reply>::const_iterator{};
                for (const Part& part : sent) {
                  if (list == nullptr) {
                    part.handler(answer);
                    continue;
                  }
                  const auto to = from + static_cast<std::ptrdiff_t>(part.replies);
                  std::vector<Reply> own{from, to};
                  own.push_back(list->back());
                  from = to;
                  part.handler(std::move(own));
                }
              });
}

void ReplicatedBatches::send_next() {
  std::string commands;
  std::vector<Part> parts;
  {
    const std::lock_guard lock{mutex_};
    if (parts_.empty()) {
      under_way_ = false;
      return;
    }
    commands = std::exchange(commands_, {});
    parts = std::exchange(parts_, {});
  }
  send_batch(std::move(commands), std::move(parts));
}

}  // namespace simba::redis
