#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simba/core/mutex_records.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"
#include "zookeeper/queue/latch.hpp"
#include "zookeeper/queue/record_request.hpp"
#include "zookeeper/session/session.hpp"
#include "zookeeper/session/strand.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// Everything that one store does in ZooKeeper while someone is attached to it: one session, and in
/// it the latches of its contenders and the looks of its observers.
///
/// Threads: the public functions may be called from any thread; everything else happens in the
/// strand.
class MutexQueues : public std::enable_shared_from_this<MutexQueues>,
                    private SessionListener,
                    private LatchHost {
 public:
  MutexQueues(std::shared_ptr<const Settings> settings, std::shared_ptr<Connector> connector,
              std::shared_ptr<const Runtime> runtime);
  ~MutexQueues() override = default;
  MutexQueues(const MutexQueues&) = delete;
  MutexQueues& operator=(const MutexQueues&) = delete;

  void acquire(const engine::LeaseRequest& request, engine::AnswerHandler handler);
  void guard(const engine::LeaseRequest& request, engine::AnswerHandler handler);
  void release(const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler);
  void retrieve(const engine::LeaseRequest& request, engine::AnswerHandler handler);
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler);
  void read(const std::string& mutex, RecordHandler handler);
  void write(const RecordWrite& write, RecordHandler handler);

  /// Ends the session, in bounded time; what waits for an answer fails. Inside a handler of ours it
  /// does not wait for the end.
  void close();

 private:
  struct Watcher;
  class Subscription;
  using Watchers = std::list<std::shared_ptr<Watcher>>;

  /// One mutex that someone here contends for or observes.
  struct Mutex {
    std::map<std::string, std::shared_ptr<Latch>> latches{};  ///< by contender id
    std::vector<std::shared_ptr<Latch>> leaving{};
    Watchers watchers{};
  };

  void session_begun() override;
  void session_suspended() override;
  void session_resumed() override;
  void session_ended() override;
  void connecting_takes_long() override;
  void session_ticked() override;
  void node_changed(const NodeEvent& event) override;

  bool latch_leads(const Latch& latch, const engine::LeaseRecord& record) override;
  void latch_lost(const Latch& latch, bool led) override;
  void latch_displaced(const Latch& latch) override;
  void latch_left(const Latch& latch) override;

  void when_connected(std::function<void()> task);
  void serve_waiting();
  void acquire_now(const engine::LeaseRequest& request, const engine::AnswerHandler& handler);
  void release_now(const engine::LeaseRequest& request, FencingToken token,
                   const engine::AnswerHandler& handler);
  void retrieve_now(const engine::LeaseRequest& request, const engine::AnswerHandler& handler);
  void begin_record(const std::string& mutex, std::optional<RecordWrite> write,
                    RecordHandler handler);
  void end_records(const Error& error);
  void close_now();
  void begin_watch(const std::shared_ptr<Watcher>& watcher);
  void end_watch(const std::shared_ptr<Watcher>& watcher);
  void observe(const std::shared_ptr<Watcher>& watcher);
  void step_down();
  void fail_looks();
  static engine::Notice suspension_of(const Latch& latch);

  void drop(const Latch& latch);
  void drop_if_unused(const std::string& path);
  void make_leave(const std::shared_ptr<Latch>& latch, const engine::AnswerHandler& handler);
  std::shared_ptr<Latch> find(const std::string& path, const std::string& contender_id) const;
  std::shared_ptr<Latch> find_leaving(const std::string& path,
                                      const std::string& contender_id) const;
  std::vector<std::shared_ptr<Latch>> all_latches() const;
  Watchers all_watchers() const;
  bool tell(const std::string& path, const std::string& contender_id, const engine::Notice& notice);
  void tell_contenders(const engine::Notice& notice);
  std::string path_of(const engine::LeaseRequest& request) const;

  // constant after construction
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<Connector> connector_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<Strand> strand_;
  const std::shared_ptr<Session> session_;

  bool closed_ = false;
  std::map<std::string, Mutex> mutexes_;        // by path
  std::vector<std::function<void()>> waiting_;  // requests that wait for the first connection
  std::map<std::uint64_t, engine::AnswerHandler> looks_;  // not answered yet
  std::uint64_t looks_made_ = 0;
  std::map<std::uint64_t, std::shared_ptr<RecordRequest>> records_;  // the same
};

}  // namespace simba::zookeeper
