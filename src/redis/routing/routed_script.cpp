#include "redis/routing/routed_script.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/server_error.hpp"

namespace simba::redis {
namespace {

/// A slot that is moved while we ask refers us once or twice. More is a cluster at odds with
/// itself, which the engine's own pauses suit better.
constexpr int most_redirections = 5;

}  // namespace

RoutedScript::RoutedScript(std::shared_ptr<const RequestContext> context, std::string_view mutex,
                           Confirmed confirmed)
    : context_{std::move(context)},
      slot_{slot_of(lock_name(mutex))},
      counted_by_replicas_{confirmed == Confirmed::yes && context_->confirmation.replicas > 0} {}

void RoutedScript::send() { send_to(context_->router->node_for(slot_), Asking::no); }

void RoutedScript::send_to(const std::shared_ptr<Node>& node, Asking asking) {
  const ScriptCall call = call_at(*node);
  std::string commands;
  std::size_t replies = 1;
  if (asking == Asking::yes) {
    commands = command({"ASKING"});
    ++replies;
  }
  commands += whole_script_ ? call.by_text() : call.by_hash();
  RepliesHandler handler = [self = shared_from_this(), node, asking](const Replies& answer) {
    self->replied(node, asking, answer);
  };
  if (counted_by_replicas_) {
    node->replicated().send(std::move(commands), replies, std::move(handler));
  } else {
    node->commands().send(std::move(commands), replies, std::move(handler));
  }
}

void RoutedScript::replied(const std::shared_ptr<Node>& node, Asking asking,
                           const Replies& replies) {
  if (const auto* error = std::get_if<Error>(&replies)) {
    context_->router->failed(*node);
    fail(*error);
    return;
  }
  const auto& list = std::get<std::vector<Reply>>(replies);
  const Reply& reply = list[asking == Asking::yes ? 1 : 0];
  if (reply.is(Reply::Type::error)) {
    refused(node, asking, reply);
    return;
  }
  succeed(*node, reply, counted_by_replicas_ ? &list.back() : nullptr);
}

std::optional<Error> RoutedScript::unconfirmed(const Node& node, const Reply* wait) const {
  if (wait == nullptr) return std::nullopt;
  if (wait->is(Reply::Type::error)) return to_error(parse_server_error(wait->text), node.where());
  if (wait->integer >= context_->confirmation.replicas) return std::nullopt;
  return Error{ErrorKind::in_doubt,
               fmt::format("only {} of {} replicas confirmed within {} ms; check the replicas of "
                           "{}, or lower wait_replicas",
                           wait->integer, context_->confirmation.replicas,
                           context_->confirmation.timeout.count(), node.where())};
}

void RoutedScript::refused(const std::shared_ptr<Node>& node, Asking asking, const Reply& reply) {
  const ServerError error = parse_server_error(reply.text);
  const Error told = to_error(error, node->where());
  switch (error.code) {
    case ServerError::Code::no_script:
      if (std::exchange(whole_script_, true)) break;
      send_to(node, asking);
      return;
    case ServerError::Code::moved:
    case ServerError::Code::ask:
      redirect(node, error, told);
      return;
    default:
      break;
  }
  if (ends_connection(error.code)) node->refused(told);
  if (error.code == ServerError::Code::cluster_down || ends_connection(error.code)) {
    context_->router->failed(*node);
  }
  fail(told);
}

void RoutedScript::redirect(const std::shared_ptr<Node>& from, const ServerError& error,
                            const Error& told) {
  Endpoint to = error.endpoint;
  if (to.host.empty()) to.host = from->endpoint().host;
  if (to.host == "?" || ++redirections_ > most_redirections) {  // the cluster does not know, either
    context_->router->failed(*from);
    fail(told);
    return;
  }
  const bool moved = error.code == ServerError::Code::moved;
  if (moved) context_->router->moved(error.slot, to);
  const auto node = context_->router->node_at(to);
  if (!node) {
    fail(Error{
        ErrorKind::configuration,
        fmt::format("{} is a cluster node, but topology is not cluster; set topology to cluster",
                    from->where())});
    return;
  }
  send_to(node, moved ? Asking::no : Asking::yes);
}

}  // namespace simba::redis
