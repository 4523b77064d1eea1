#pragma once

#include <memory>
#include <optional>
#include <string>

#include "redis/routing/routed_script.hpp"
#include "simba/core/mutex_records.hpp"

namespace simba::redis {

/// One request about a record.
class RecordRequest final : public RoutedScript {
 public:
  /// A read.
  RecordRequest(std::shared_ptr<const RequestContext> context, const std::string& mutex,
                RecordHandler handler);
  RecordRequest(std::shared_ptr<const RequestContext> context, const RecordWrite& write,
                RecordHandler handler);

 private:
  ScriptCall call_at(const Node& /*node*/) const override { return call_; }
  void succeed(const Node& node, const Reply& reply, const Reply* wait) override;
  void fail(const Error& error) override { handler_(error); }

  // constant after construction
  const ScriptCall call_;
  const bool writes_;
  const RecordHandler handler_;
};

}  // namespace simba::redis
