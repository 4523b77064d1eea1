#pragma once

#include <chrono>
#include <memory>

#include "redis/protocol/script.hpp"
#include "redis/protocol/server_error.hpp"
#include "redis/routing/router.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// What all requests of a store need. Constant.
struct RequestContext {
  std::shared_ptr<Router> router;
  Topology topology = Topology::single;
  Confirmation confirmation{};
  std::chrono::milliseconds token_retention = RedisOptions{}.token_retention;
};

/// One request to the store: sent, sent with the whole script where the server does not know it,
/// sent on where a cluster refers it elsewhere, and answered exactly once.
class ScriptRequest : public std::enable_shared_from_this<ScriptRequest> {
 public:
  enum class Kind { acquire, guard, release, retrieve };

  ScriptRequest(std::shared_ptr<const RequestContext> context, Kind kind,
                engine::LeaseRequest request, FencingToken token, engine::AnswerHandler handler);

  void send();

 private:
  enum class Asking { no, yes };  // whether the node is told to serve a slot it is being given

  void send_to(const std::shared_ptr<Node>& node, Asking asking);
  ScriptCall call_at(const Node& node) const;
  bool is_counted_by_replicas() const noexcept;
  void replied(const std::shared_ptr<Node>& node, Asking asking, const Replies& replies);
  void refused(const std::shared_ptr<Node>& node, Asking asking, const Reply& reply);
  void redirect(const std::shared_ptr<Node>& from, const ServerError& error, const Error& told);

  // constant after construction
  const std::shared_ptr<const RequestContext> context_;
  const Kind kind_;
  const engine::LeaseRequest request_;
  const FencingToken token_;
  const engine::AnswerHandler handler_;

  // touched by the one step that is under way
  bool whole_script_ = false;
  int redirections_ = 0;
};

}  // namespace simba::redis
