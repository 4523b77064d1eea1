#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "redis/protocol/reply.hpp"
#include "redis/protocol/script.hpp"
#include "redis/protocol/server_error.hpp"
#include "redis/routing/router.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// What all requests of a store need. Constant.
struct RequestContext {
  std::shared_ptr<Router> router;
  Topology topology = Topology::single;
  Confirmation confirmation{};
  std::chrono::milliseconds token_retention = RedisOptions{}.token_retention;
};

/// A script on its way: sent to the server that has the mutex, sent with the whole text where that
/// does not know it, sent on where a cluster refers it elsewhere, and answered exactly once, by
/// `succeed` or by `fail`.
class RoutedScript : public std::enable_shared_from_this<RoutedScript> {
 public:
  RoutedScript(const RoutedScript&) = delete;
  RoutedScript& operator=(const RoutedScript&) = delete;
  virtual ~RoutedScript() = default;

  void send();

 protected:
  /// Whether replicas are to confirm what it writes, if the options say how many.
  enum class Confirmed { no, yes };

  RoutedScript(std::shared_ptr<const RequestContext> context, std::string_view mutex,
               Confirmed confirmed);

  const RequestContext& context() const noexcept { return *context_; }

  /// Why what has been written does not count: too few replicas have confirmed it. Empty: it does.
  std::optional<Error> unconfirmed(const Node& node, const Reply* wait) const;

 private:
  enum class Asking { no, yes };  // whether the node is told to serve a slot it is being given

  virtual ScriptCall call_at(const Node& node) const = 0;

  /// `reply` is not an error. `wait`: what the replicas have confirmed; null where they are not
  /// asked.
  virtual void succeed(const Node& node, const Reply& reply, const Reply* wait) = 0;
  virtual void fail(const Error& error) = 0;

  void send_to(const std::shared_ptr<Node>& node, Asking asking);
  void replied(const std::shared_ptr<Node>& node, Asking asking, const Replies& replies);
  void refused(const std::shared_ptr<Node>& node, Asking asking, const Reply& reply);
  void redirect(const std::shared_ptr<Node>& from, const ServerError& error, const Error& told);

  // constant after construction
  const std::shared_ptr<const RequestContext> context_;
  const std::uint16_t slot_;
  const bool counted_by_replicas_;

  // touched by the one step that is under way
  bool whole_script_ = false;
  int redirections_ = 0;
};

}  // namespace simba::redis
