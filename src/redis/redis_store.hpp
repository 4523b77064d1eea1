#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/open_while_attached.hpp"
#include "redis/connection/connection.hpp"
#include "redis/routing/script_request.hpp"
#include "redis/session.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// The store behind `make_redis_store`. It has a session while someone is attached.
///
/// Threads: see LeaseStore. Requests are answered on the session's thread, or inside the call.
class RedisStore final : public engine::LeaseStore,
                         public MutexRecords,
                         public std::enable_shared_from_this<RedisStore> {
 public:
  /// `options` have been checked; `make_io` is called for each session.
  RedisStore(RedisOptions options, std::shared_ptr<const ConnectionSettings> settings,
             std::shared_ptr<const Runtime> runtime, std::function<SessionIo()> make_io);

  NameLimits name_limits() const noexcept override { return {}; }
  void check_names(std::string_view mutex, std::string_view contender_id) const override;
  std::shared_ptr<void> attach() override;

  void acquire(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void guard(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void release(const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler) override;
  void retrieve(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler) override;

  MutexRecords* records() noexcept override { return this; }
  void read(const std::string& mutex, RecordHandler handler) override;
  void write(const RecordWrite& write, RecordHandler handler) override;

 private:
  void send(ScriptRequest::Kind kind, const engine::LeaseRequest& request, FencingToken token,
            engine::AnswerHandler handler);
  void check(const engine::LeaseRequest& request) const;

  // constant after construction
  const RedisOptions options_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::function<SessionIo()> make_io_;

  engine::OpenWhileAttached<Session> session_{"Redis"};
};

}  // namespace simba::redis
