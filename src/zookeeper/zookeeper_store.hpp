#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/open_while_attached.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

class MutexQueues;

/// The store over any connector, so that it can be played through without servers.
///
/// Threads: see LeaseStore. Requests are answered on the thread that brought the news, or inside
/// the call.
class ZooKeeperStore final : public engine::LeaseStore,
                             public MutexRecords,
                             public std::enable_shared_from_this<ZooKeeperStore> {
 public:
  ZooKeeperStore(Settings settings, std::shared_ptr<Connector> connector,
                 std::shared_ptr<const Runtime> runtime);

  NameLimits name_limits() const noexcept override { return {}; }
  engine::OwnerWatch owner_watch() const noexcept override { return engine::OwnerWatch::kept; }
  void check_names(std::string_view mutex, std::string_view contender_id) const override;
  WorstCases worst_cases(const ContentionPlan& plan) const override;
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
  template <class Handler, class Function>
  void serve(const engine::LeaseRequest& request, Handler handler, const Function& function);
  std::shared_ptr<MutexQueues> checked(const engine::LeaseRequest& request) const;

  // constant after construction
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<Connector> connector_;
  const std::shared_ptr<const Runtime> runtime_;

  engine::OpenWhileAttached<MutexQueues> queues_{"ZooKeeper"};
};

}  // namespace simba::zookeeper
