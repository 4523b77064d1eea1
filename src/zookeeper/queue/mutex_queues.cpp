#include "zookeeper/queue/mutex_queues.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "zookeeper/queue/node_names.hpp"
#include "zookeeper/queue/owner_search.hpp"

namespace simba::zookeeper {

/// Someone who is told of changes: a contender, or, without an id, an observer.
struct MutexQueues::Watcher {
  std::string path;
  std::string contender_id;
  engine::NoticeHandler handler;
  std::atomic<bool> ended{false};

  // of an observer
  std::string watched{};        // the path whose next change we will hear of
  bool searching = false;       // for the owner
  bool again = false;           // something changed meanwhile
  engine::LeaseRecord owner{};  // as it was told

  bool observes() const noexcept { return contender_id.empty(); }
  void tell(const engine::Notice& notice) const {
    if (!ended) handler(notice);
  }
};

using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::Notice;
using engine::NoticeHandler;

class MutexQueues::Subscription final : public engine::Watch {
 public:
  Subscription(std::weak_ptr<MutexQueues> queues, std::shared_ptr<Watcher> watcher)
      : queues_{std::move(queues)}, watcher_{std::move(watcher)} {}
  ~Subscription() override {
    watcher_->ended = true;
    const auto queues = queues_.lock();
    if (!queues) return;
    queues->strand_->post([queues, watcher = watcher_] { queues->end_watch(watcher); });
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  const std::weak_ptr<MutexQueues> queues_;
  const std::shared_ptr<Watcher> watcher_;
};

MutexQueues::MutexQueues(std::shared_ptr<const Settings> settings,
                         std::shared_ptr<Connector> connector,
                         std::shared_ptr<const Runtime> runtime)
    : settings_{std::move(settings)},
      connector_{std::move(connector)},
      runtime_{std::move(runtime)},
      strand_{std::make_shared<Strand>(runtime_->log)},
      session_{std::make_shared<Session>(settings_, connector_, runtime_, strand_,
                                         static_cast<SessionListener&>(*this))} {}

// ---- from any thread ----------------------------------------------------------------------------

void MutexQueues::acquire(const LeaseRequest& request, AnswerHandler handler) {
  strand_->post([self = shared_from_this(), request, handler = std::move(handler)] {
    self->when_connected([self, request, handler] { self->acquire_now(request, handler); });
  });
}

void MutexQueues::guard(const LeaseRequest& request, AnswerHandler handler) {
  strand_->post([self = shared_from_this(), request, handler = std::move(handler)] {
    const auto latch = self->find(self->path_of(request), request.contender_id);
    if (latch) {
      latch->guard(handler);
    } else if (self->closed_) {
      handler(self->session_->trouble());
    } else {
      handler(LeaseRecord{});
    }
  });
}

void MutexQueues::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  strand_->post([self = shared_from_this(), request, token, handler = std::move(handler)] {
    self->release_now(request, token, handler);
  });
}

void MutexQueues::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  strand_->post([self = shared_from_this(), request, handler = std::move(handler)] {
    self->when_connected([self, request, handler] { self->retrieve_now(request, handler); });
  });
}

std::unique_ptr<engine::Watch> MutexQueues::watch(const LeaseRequest& request,
                                                  NoticeHandler handler) {
  auto watcher = std::make_shared<Watcher>();
  watcher->path = path_of(request);
  watcher->contender_id = request.contender_id;
  watcher->handler = std::move(handler);
  auto subscription = std::make_unique<Subscription>(weak_from_this(), watcher);
  strand_->post([self = shared_from_this(), watcher] { self->begin_watch(watcher); });
  return subscription;
}

void MutexQueues::read(const std::string& mutex, RecordHandler handler) {
  begin_record(mutex, std::nullopt, std::move(handler));
}

void MutexQueues::write(const RecordWrite& write, RecordHandler handler) {
  begin_record(write.mutex, write, std::move(handler));
}

void MutexQueues::close() {
  using namespace std::chrono_literals;
  strand_->post_and_wait([self = shared_from_this()] { self->close_now(); }, *runtime_->waiter,
                         runtime_->clock->now() + 5s);
  if (!strand_->running_in_this_thread()) connector_->wait_until_closed();
}

// ---- requests -----------------------------------------------------------------------------------

// The first ones come before there is a session, which must not fail them.
void MutexQueues::when_connected(std::function<void()> task) {
  session_->need();
  if (session_->worth_waiting_for()) {
    waiting_.push_back(std::move(task));
  } else {
    task();
  }
}

void MutexQueues::serve_waiting() {
  for (const auto& task : std::exchange(waiting_, {})) task();
}

void MutexQueues::acquire_now(const LeaseRequest& request, const AnswerHandler& handler) {
  if (!session_->connected()) {
    handler(session_->trouble());
    return;
  }
  const std::string path = path_of(request);
  auto latch = find(path, request.contender_id);
  if (latch && latch->granted() && latch->granted_at() <= request.waiting_since) {
    // Its contender has lost it by its own account and wants to own it again: with a greater token,
    // so with another node. Should it believe in the old one all the same, it hears of its end. But
    // a request that has crossed the grant is only answered with it.
    tell(path, request.contender_id, Notice{.kind = Notice::Kind::revoked});
    make_leave(latch, [](const LeaseAnswer&) {});
    latch.reset();
  }
  if (latch) {
    latch->ask(handler);
    return;
  }
  latch =
      std::make_shared<Latch>(session_, path, request.contender_id,
                              protective_prefix(*runtime_->random), static_cast<LatchHost&>(*this));
  mutexes_[path].latches[request.contender_id] = latch;
  latch->ask(handler);
  latch->begin();
}

void MutexQueues::release_now(const LeaseRequest& request, FencingToken token,
                              const AnswerHandler& handler) {
  const std::string path = path_of(request);
  if (const auto latch = find(path, request.contender_id)) {
    if (latch->granted() && latch->token() != token) {
      handler(latch->own_record());
    } else {
      make_leave(latch, handler);
    }
  } else if (const auto leaving = find_leaving(path, request.contender_id)) {
    leaving->leave(handler);
  } else {
    handler(LeaseRecord{});
  }
}

void MutexQueues::retrieve_now(const LeaseRequest& request, const AnswerHandler& handler) {
  if (!session_->connected()) {
    handler(session_->trouble());
    return;
  }
  const std::uint64_t look = ++looks_made_;
  looks_[look] = handler;
  auto found = [this, look](const LeaseAnswer& answer, const std::string& /*watched*/) {
    const auto node = looks_.extract(look);
    if (node) node.mapped()(answer);
  };
  std::make_shared<OwnerSearch>(session_, path_of(request), Watching::no, std::move(found))
      ->begin();
}

void MutexQueues::begin_record(const std::string& mutex, std::optional<RecordWrite> write,
                               RecordHandler handler) {
  const RecordRequest::Paths paths{
      .mutex = settings_->root + "/" + mutex,
      .record = fmt::format("{}/{}/{}", settings_->root, records_name, mutex)};
  auto begin = [self = shared_from_this(), paths, write = std::move(write),
                handler = std::move(handler)] {
    if (!self->session_->connected()) {
      handler(self->session_->trouble());
      return;
    }
    const std::uint64_t id = ++self->looks_made_;
    const auto request = std::make_shared<RecordRequest>(
        self->session_, self->runtime_->clock, paths, write,
        [queues = self.get(), id, handler](const RecordResult& result) {
          queues->records_.erase(id);
          handler(result);
        });
    self->records_.emplace(id, request);
    request->begin();
  };
  strand_->post([self = shared_from_this(), begin = std::move(begin)]() mutable {
    self->when_connected(std::move(begin));
  });
}

void MutexQueues::end_records(const Error& error) {
  for (const auto& [id, request] : std::exchange(records_, {})) request->session_over(error);
}

void MutexQueues::close_now() {
  if (std::exchange(closed_, true)) return;
  session_->close();
  const Error error = session_->trouble();
  const auto latches = all_latches();
  mutexes_.clear();
  for (const auto& latch : latches) latch->close(error);
  for (const auto& [look, handler] : std::exchange(looks_, {})) handler(error);
  end_records(error);
  serve_waiting();
}

// ---- watches ------------------------------------------------------------------------------------

void MutexQueues::begin_watch(const std::shared_ptr<Watcher>& watcher) {
  if (closed_ || watcher->ended) return;
  mutexes_[watcher->path].watchers.push_back(watcher);
  if (watcher->observes()) {
    session_->need();
    observe(watcher);
  } else if (const auto latch = find(watcher->path, watcher->contender_id)) {
    if (latch->granted() && !session_->connected()) {
      watcher->tell(suspension_of(*latch));
    }
    latch->tell();
    if (!latch->granted() && !latch->waiting()) watcher->tell(Notice{});
  } else {
    watcher->tell(Notice{});
  }
}

void MutexQueues::end_watch(const std::shared_ptr<Watcher>& watcher) {
  const auto mutex = mutexes_.find(watcher->path);
  if (mutex == mutexes_.end()) return;
  mutex->second.watchers.remove(watcher);
  drop_if_unused(watcher->path);
}

void MutexQueues::observe(const std::shared_ptr<Watcher>& watcher) {
  if (!session_->connected() || watcher->ended) return;
  watcher->again = std::exchange(watcher->searching, true);
  if (watcher->again) return;
  auto found = [this, watcher](const LeaseAnswer& answer, const std::string& watched) {
    watcher->searching = false;
    watcher->watched = watched;
    if (std::exchange(watcher->again, false)) {
      observe(watcher);
    } else if (const LeaseRecord* record = answer.record()) {
      watcher->owner = *record;
      watcher->tell(Notice{.kind = Notice::Kind::changed, .record = *record});
    }
  };
  std::make_shared<OwnerSearch>(session_, watcher->path, Watching::yes, std::move(found))->begin();
}

void MutexQueues::node_changed(const NodeEvent& event) {
  auto mutex = mutexes_.find(event.path);
  if (mutex == mutexes_.end()) mutex = mutexes_.find(event.path.substr(0, event.path.rfind('/')));
  if (mutex == mutexes_.end()) return;
  const std::map<std::string, std::shared_ptr<Latch>> latches = mutex->second.latches;
  const Watchers watchers = mutex->second.watchers;
  for (const auto& [id, latch] : latches) latch->node_changed(event);
  for (const auto& watcher : watchers) {
    if (watcher->observes() && (watcher->watched == event.path || watcher->searching)) {
      observe(watcher);
    }
  }
}

// ---- latches ------------------------------------------------------------------------------------

bool MutexQueues::latch_leads(const Latch& latch, const LeaseRecord& record) {
  return tell(latch.mutex_path(), latch.contender_id(),
              Notice{.kind = Notice::Kind::granted, .record = record});
}

void MutexQueues::latch_lost(const Latch& latch, bool led) {
  drop(latch);  // which holds itself while it tells
  tell(latch.mutex_path(), latch.contender_id(),
       Notice{.kind = led ? Notice::Kind::revoked : Notice::Kind::changed});
}

void MutexQueues::latch_displaced(const Latch& latch) {
  const auto displaced = find(latch.mutex_path(), latch.contender_id());
  if (displaced.get() != &latch) return;
  tell(latch.mutex_path(), latch.contender_id(), Notice{.kind = Notice::Kind::revoked});
  make_leave(displaced, [](const LeaseAnswer&) {});
}

void MutexQueues::latch_left(const Latch& latch) { drop(latch); }

void MutexQueues::make_leave(const std::shared_ptr<Latch>& latch, const AnswerHandler& handler) {
  Mutex& mutex = mutexes_[latch->mutex_path()];
  mutex.latches.erase(latch->contender_id());
  mutex.leaving.push_back(latch);
  latch->leave(handler);
}

void MutexQueues::drop(const Latch& latch) {
  const std::string path = latch.mutex_path();
  const auto mutex = mutexes_.find(path);
  if (mutex == mutexes_.end()) return;
  const auto is_it = [&](const std::shared_ptr<Latch>& other) { return other.get() == &latch; };
  std::erase_if(mutex->second.leaving, is_it);
  std::erase_if(mutex->second.latches, [&](const auto& entry) { return is_it(entry.second); });
  drop_if_unused(path);
}

void MutexQueues::drop_if_unused(const std::string& path) {
  const auto found = mutexes_.find(path);
  if (found == mutexes_.end()) return;
  const Mutex& mutex = found->second;
  if (mutex.latches.empty() && mutex.leaving.empty() && mutex.watchers.empty()) {
    mutexes_.erase(found);
  }
}

std::shared_ptr<Latch> MutexQueues::find(const std::string& path,
                                         const std::string& contender_id) const {
  const auto mutex = mutexes_.find(path);
  if (mutex == mutexes_.end()) return nullptr;
  const auto latch = mutex->second.latches.find(contender_id);
  return latch == mutex->second.latches.end() ? nullptr : latch->second;
}

std::shared_ptr<Latch> MutexQueues::find_leaving(const std::string& path,
                                                 const std::string& contender_id) const {
  const auto mutex = mutexes_.find(path);
  if (mutex == mutexes_.end()) return nullptr;
  const auto& leaving = mutex->second.leaving;
  const auto latch = std::find_if(leaving.rbegin(), leaving.rend(), [&](const auto& candidate) {
    return candidate->contender_id() == contender_id;
  });
  return latch == leaving.rend() ? nullptr : *latch;
}

std::vector<std::shared_ptr<Latch>> MutexQueues::all_latches() const {
  std::vector<std::shared_ptr<Latch>> all;
  for (const auto& [path, mutex] : mutexes_) {
    for (const auto& [id, latch] : mutex.latches) all.push_back(latch);
    all.insert(all.end(), mutex.leaving.begin(), mutex.leaving.end());
  }
  return all;
}

MutexQueues::Watchers MutexQueues::all_watchers() const {
  Watchers all;
  for (const auto& [path, mutex] : mutexes_) {
    all.insert(all.end(), mutex.watchers.begin(), mutex.watchers.end());
  }
  return all;
}

bool MutexQueues::tell(const std::string& path, const std::string& contender_id,
                       const Notice& notice) {
  const auto mutex = mutexes_.find(path);
  if (mutex == mutexes_.end()) return false;
  const Watchers watchers = mutex->second.watchers;
  bool heard = false;
  for (const auto& watcher : watchers) {
    if (watcher->contender_id != contender_id || watcher->ended) continue;
    heard = true;
    watcher->tell(notice);
  }
  return heard;
}

void MutexQueues::tell_contenders(const Notice& notice) {
  for (const auto& watcher : all_watchers()) {
    if (!watcher->observes()) watcher->tell(notice);
  }
}

std::string MutexQueues::path_of(const LeaseRequest& request) const {
  return settings_->root + "/" + request.mutex;
}

}  // namespace simba::zookeeper

// What the queues make of the ups and downs of its session.

namespace simba::zookeeper {

using engine::LeaseAnswer;
using engine::Notice;

void MutexQueues::session_begun() {
  serve_waiting();
  for (const auto& watcher : all_watchers()) {
    if (watcher->observes()) observe(watcher);
  }
}

void MutexQueues::session_suspended() {
  for (const auto& latch : all_latches()) latch->session_suspended();
  for (const auto& watcher : all_watchers()) watcher->searching = false;
  fail_looks();
  if (settings_->on_disconnect == OnDisconnect::step_down) {
    step_down();
  } else {
    for (const auto& latch : all_latches()) {
      if (latch->granted()) tell(latch->mutex_path(), latch->contender_id(), suspension_of(*latch));
    }
  }
}

// The last that an owner hears of how far its session is proven.
Notice MutexQueues::suspension_of(const Latch& latch) {
  return Notice{.kind = Notice::Kind::suspended, .record = latch.own_record()};
}

void MutexQueues::session_resumed() {
  for (const auto& latch : all_latches()) latch->session_resumed();
  for (const auto& watcher : all_watchers()) {
    if (watcher->observes()) {
      observe(watcher);
    } else if (const auto latch = find(watcher->path, watcher->contender_id);
               latch && latch->granted()) {
      watcher->tell(Notice{});  // so that it renews at once
    }
  }
}

void MutexQueues::session_ended() {
  const auto latches = all_latches();
  for (auto& [path, mutex] : mutexes_) {
    mutex.latches.clear();
    mutex.leaving.clear();
  }
  for (const auto& latch : latches) {
    latch->session_ended();
    drop_if_unused(latch->mutex_path());
  }
  for (const auto& watcher : all_watchers()) {
    watcher->searching = false;
    watcher->watched.clear();
  }
  fail_looks();
  end_records(Error{ErrorKind::unavailable, "ZooKeeper: the session ended; starting a new one"});
  tell_contenders(Notice{.kind = Notice::Kind::revoked});
}

void MutexQueues::connecting_takes_long() { serve_waiting(); }

void MutexQueues::session_ticked() {
  for (const auto& latch : all_latches()) latch->mend();
  for (const auto& watcher : all_watchers()) {
    if (!watcher->observes() || watcher->searching) continue;
    if (watcher->watched.empty()) {
      observe(watcher);
    } else if (session_->watches(watcher->watched) && !watcher->owner.owner_id.empty()) {
      // We would have heard of a change: so the owner still is. It has no lease to renew.
      watcher->tell(Notice{.kind = Notice::Kind::changed, .record = watcher->owner});
    }
  }
}

void MutexQueues::fail_looks() {
  const Error error{ErrorKind::unavailable,
                    "ZooKeeper: lost the connection before the owner was found"};
  for (const auto& [look, handler] : std::exchange(looks_, {})) handler(error);
}

// As Curator does: an owner steps down, and will queue up again.
void MutexQueues::step_down() {
  for (const auto& latch : all_latches()) {
    if (!latch->granted() || find(latch->mutex_path(), latch->contender_id()) != latch) continue;
    make_leave(latch, [](const LeaseAnswer&) {});
    tell(latch->mutex_path(), latch->contender_id(), Notice{.kind = Notice::Kind::revoked});
  }
}

}  // namespace simba::zookeeper
