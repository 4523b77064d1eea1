#include "redis/routing/script_request.hpp"

#include <utility>

#include "redis/protocol/lease_answer.hpp"

namespace simba::redis {

ScriptRequest::ScriptRequest(std::shared_ptr<const RequestContext> context, Kind kind,
                             engine::LeaseRequest request, FencingToken token,
                             engine::AnswerHandler handler)
    : RoutedScript{std::move(context), request.mutex,
                   kind == Kind::acquire || kind == Kind::guard ? Confirmed::yes : Confirmed::no},
      kind_{kind},
      request_{std::move(request)},
      token_{token},
      handler_{std::move(handler)} {}

ScriptCall ScriptRequest::call_at(const Node& node) const {
  switch (kind_) {
    case Kind::acquire:
      return ScriptCall::acquire(request_,
                                 node.subscriber().place_for(request_.mutex, request_.contender_id),
                                 context().token_retention);
    case Kind::guard:
      return ScriptCall::guard(request_, context().token_retention);
    case Kind::release:
      return ScriptCall::release(request_, token_, context().topology, context().token_retention);
    case Kind::retrieve:
      break;
  }
  return ScriptCall::retrieve(request_.mutex);
}

void ScriptRequest::succeed(const Node& node, const Reply& reply, const Reply* wait) {
  const auto answer = parse_lease_answer(reply, request_);
  const auto* const held = answer.record();
  if (kind_ == Kind::acquire && held != nullptr && !held->owner_id.empty()) {
    node.subscriber().saw_time(held->lease.transition_at - held->transition_left);
  }
  const bool mine = held != nullptr && !request_.contender_id.empty() &&
                    held->owner_id == request_.contender_id && !held->namesake;
  if (const auto error = mine ? unconfirmed(node, wait) : std::nullopt) {
    handler_(*error);
  } else {
    handler_(answer);
  }
}

}  // namespace simba::redis
