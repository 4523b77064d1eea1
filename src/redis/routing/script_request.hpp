#pragma once

#include <memory>

#include "redis/routing/routed_script.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// One request about a lease.
class ScriptRequest final : public RoutedScript {
 public:
  enum class Kind { acquire, guard, release, retrieve };

  ScriptRequest(std::shared_ptr<const RequestContext> context, Kind kind,
                engine::LeaseRequest request, FencingToken token, engine::AnswerHandler handler);

 private:
  ScriptCall call_at(const Node& node) const override;
  void succeed(const Node& node, const Reply& reply, const Reply* wait) override;
  void fail(const Error& error) override { handler_(error); }

  // constant after construction
  const Kind kind_;
  const engine::LeaseRequest request_;
  const FencingToken token_;
  const engine::AnswerHandler handler_;
};

}  // namespace simba::redis
