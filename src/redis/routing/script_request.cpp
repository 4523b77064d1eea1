#include "redis/routing/script_request.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/lease_answer.hpp"
#include "redis/protocol/server_error.hpp"

namespace simba::redis {
namespace {

/// A slot that is moved while we ask refers us once or twice. More is a cluster at odds with
/// itself, which the engine's own pauses suit better.
constexpr int most_redirections = 5;

}  // namespace

ScriptRequest::ScriptRequest(std::shared_ptr<const RequestContext> context, Kind kind,
                             engine::LeaseRequest request, FencingToken token,
                             engine::AnswerHandler handler)
    : context_{std::move(context)},
      kind_{kind},
      request_{std::move(request)},
      token_{token},
      handler_{std::move(handler)} {}

void ScriptRequest::send() {
  send_to(context_->router->node_for(slot_of(lock_name(request_.mutex))), Asking::no);
}

void ScriptRequest::send_to(const std::shared_ptr<Node>& node, Asking asking) {
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
  if (is_counted_by_replicas()) {
    node->replicated().send(std::move(commands), replies, std::move(handler));
  } else {
    node->commands().send(std::move(commands), replies, std::move(handler));
  }
}

ScriptCall ScriptRequest::call_at(const Node& node) const {
  switch (kind_) {
    case Kind::acquire:
      return ScriptCall::acquire(request_,
                                 node.subscriber().place_for(request_.mutex, request_.contender_id),
                                 context_->token_retention);
    case Kind::guard:
      return ScriptCall::guard(request_, context_->token_retention);
    case Kind::release:
      return ScriptCall::release(request_, token_, context_->topology, context_->token_retention);
    case Kind::retrieve:
      break;
  }
  return ScriptCall::retrieve(request_.mutex);
}

bool ScriptRequest::is_counted_by_replicas() const noexcept {
  return context_->confirmation.replicas > 0 && (kind_ == Kind::acquire || kind_ == Kind::guard);
}

void ScriptRequest::replied(const std::shared_ptr<Node>& node, Asking asking,
                            const Replies& replies) {
  if (const auto* error = std::get_if<Error>(&replies)) {
    context_->router->failed(*node);
    handler_(*error);
    return;
  }
  const auto& list = std::get<std::vector<Reply>>(replies);
  const Reply& reply = list[asking == Asking::yes ? 1 : 0];
  if (reply.is(Reply::Type::error)) {
    refused(node, asking, reply);
    return;
  }
  const auto answer = parse_lease_answer(reply, request_);
  if (const auto* held = answer.record();
      kind_ == Kind::acquire && held != nullptr && !held->owner_id.empty()) {
    node->subscriber().saw_time(held->lease.transition_at - held->transition_left);
  }
  const bool mine = answer.record() != nullptr && !request_.contender_id.empty() &&
                    answer.record()->owner_id == request_.contender_id &&
                    !answer.record()->namesake;
  if (mine && is_counted_by_replicas()) {
    const Reply& wait = list.back();
    if (wait.is(Reply::Type::error)) {
      handler_(to_error(parse_server_error(wait.text), node->where()));
      return;
    }
    if (wait.integer < context_->confirmation.replicas) {
      handler_(Error{ErrorKind::in_doubt,
                     fmt::format("only {} of {} replicas confirmed within {} ms; check the "
                                 "replicas of {}, or lower wait_replicas",
                                 wait.integer, context_->confirmation.replicas,
                                 context_->confirmation.timeout.count(), node->where())});
      return;
    }
  }
  handler_(answer);
}

void ScriptRequest::refused(const std::shared_ptr<Node>& node, Asking asking, const Reply& reply) {
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
  handler_(told);
}

void ScriptRequest::redirect(const std::shared_ptr<Node>& from, const ServerError& error,
                             const Error& told) {
  Endpoint to = error.endpoint;
  if (to.host.empty()) to.host = from->endpoint().host;
  if (to.host == "?" || ++redirections_ > most_redirections) {  // the cluster does not know, either
    context_->router->failed(*from);
    handler_(told);
    return;
  }
  const bool moved = error.code == ServerError::Code::moved;
  if (moved) context_->router->moved(error.slot, to);
  const auto node = context_->router->node_at(to);
  if (!node) {
    handler_(Error{
        ErrorKind::configuration,
        fmt::format("{} is a cluster node, but topology is not cluster; set topology to cluster",
                    from->where())});
    return;
  }
  send_to(node, moved ? Asking::no : Asking::yes);
}

}  // namespace simba::redis
