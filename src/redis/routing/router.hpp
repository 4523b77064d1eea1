#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "redis/routing/node.hpp"
#include "simba/core/error.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Knows which server a mutex is at.
///
/// Threads: every function may be called from any thread.
class Router {
 public:
  Router() = default;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  virtual ~Router() = default;

  /// Where to ask about a mutex whose key is in `slot`. Never empty.
  virtual std::shared_ptr<Node> node_for(std::uint16_t slot) = 0;

  /// The server that another one has referred us to; empty if that cannot be.
  virtual std::shared_ptr<Node> node_at(const Endpoint& endpoint) = 0;

  /// A server says that the slot is at `endpoint` now.
  virtual void moved(std::uint16_t slot, const Endpoint& endpoint) = 0;

  /// A server could not be asked, or does not serve.
  virtual void failed(const Node& node) = 0;

  virtual void close() = 0;
};

/// For one server, or one master at a time.
class FixedRouter final : public Router {
 public:
  explicit FixedRouter(std::shared_ptr<Node> node) : node_{std::move(node)} {}

  std::shared_ptr<Node> node_for(std::uint16_t /*slot*/) override { return node_; }
  std::shared_ptr<Node> node_at(const Endpoint& /*endpoint*/) override { return nullptr; }
  void moved(std::uint16_t /*slot*/, const Endpoint& /*endpoint*/) override {}
  void failed(const Node& /*node*/) override {}
  void close() override { node_->close(); }

 private:
  const std::shared_ptr<Node> node_;
};

}  // namespace simba::redis
