#include "sql/sql_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/open_while_attached.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "sql/claims.hpp"
#include "sql/rows.hpp"
#include "sql/sql_plan.hpp"
#include "sql/watching/change_watcher.hpp"
#include "sql/watching/watch_hub.hpp"
#include "sql/workers/statement_pool.hpp"

namespace simba::sql {
namespace {

using engine::AnswerHandler;
using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;
using engine::NoticeHandler;

std::optional<Error> refusal(const LeaseRequest& request, const NameLimits& limits) {
  try {
    check_name("mutex name", request.mutex, limits.mutex);
    check_name("contender id", request.contender_id, limits.contender_id);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// Where there is no row nobody owns the mutex. An acquisition makes one, so there it is an error:
/// it was tried again by itself, and what came of that is unknown.
LeaseAnswer answer_of(const Result<std::optional<Row>>& result,
                      std::optional<Change> change = std::nullopt) {
  if (const auto* error = std::get_if<Error>(&result)) return *error;
  const auto& row = std::get<std::optional<Row>>(result);
  if (row) return record_of(*row);
  if (change == Change::acquire) {
    return Error{ErrorKind::in_doubt,
                 "no reply for the row of the mutex: another contender was faster, the connection "
                 "broke, or the name collides with another; retrying"};
  }
  return LeaseRecord{};
}

class HubWatch final : public engine::Watch {
 public:
  HubWatch(std::shared_ptr<WatchHub> hub, std::shared_ptr<Subscription> subscription)
      : hub_{std::move(hub)}, subscription_{std::move(subscription)} {}
  HubWatch(const HubWatch&) = delete;
  HubWatch& operator=(const HubWatch&) = delete;
  ~HubWatch() override { hub_->remove(subscription_); }

 private:
  const std::shared_ptr<WatchHub> hub_;
  const std::shared_ptr<Subscription> subscription_;
};

/// What the store has while someone is attached. In its making nothing is connected or started.
class Opened {
 public:
  Opened(std::shared_ptr<Database> database, const SqlPlan& plan,
         std::shared_ptr<const Runtime> runtime, std::shared_ptr<WatchHub> hub)
      : runtime_{std::move(runtime)},
        plan_{plan},
        hub_{std::move(hub)},
        pool_{std::make_shared<StatementPool>(
            std::move(database), plan, runtime_->log,
            runtime_->statistics ? runtime_->statistics->connections() : nullptr)} {}

  const std::shared_ptr<StatementPool>& shared_pool() const noexcept { return pool_; }
  StatementPool& pool() const noexcept { return *pool_; }
  const std::shared_ptr<Claims>& claims() const noexcept { return claims_; }

  void begin_watching(bool is_new) {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    if (!watcher_) {
      watcher_ = std::make_unique<ChangeWatcher>(pool_, hub_, *runtime_, plan_);
    } else if (is_new) {
      watcher_->watched_changed();
    }
  }

  void close() {
    std::unique_ptr<ChangeWatcher> watcher;
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
      watcher = std::move(watcher_);
    }
    watcher.reset();
    pool_->close();
  }

 private:
  // constant after construction
  const std::shared_ptr<const Runtime> runtime_;
  const SqlPlan plan_;
  const std::shared_ptr<WatchHub> hub_;
  const std::shared_ptr<StatementPool> pool_;
  const std::shared_ptr<Claims> claims_ = std::make_shared<Claims>();

  std::mutex mutex_;
  // guarded by mutex_
  std::unique_ptr<ChangeWatcher> watcher_;  // made at the first watch
  bool closed_ = false;
};

/// A write of a record on its way. The version of the mutex grows with each renewal, so one that is
/// refused because of that goes again under the versions that are known then.
class RecordWriting : public std::enable_shared_from_this<RecordWriting> {
 public:
  RecordWriting(std::shared_ptr<StatementPool> pool, std::shared_ptr<const Claims> claims,
                const RecordWrite& write, RecordHandler handler)
      : pool_{std::move(pool)},
        claims_{std::move(claims)},
        owner_{write.owner},
        ask_{.mutex = write.mutex,
             .text = write.text,
             .replaces = representable(write.replaces),
             .not_before = write.not_before},
        handler_{std::move(handler)} {}

  void send() {
    if (owner_) {
      versions_ = claims_->grown_from(*owner_, ask_.mutex);
      ask_.owner = RecordAsk::Owner{.contender_id = owner_->contender_id,
                                    .least = representable(versions_.least),
                                    .greatest = representable(versions_.greatest)};
    }
    ++sent_;
    pool_->write_record(
        ask_, [self = shared_from_this()](const RecordResult& result) { self->answered(result); });
  }

 private:
  void answered(const RecordResult& result) {
    const auto* answer = std::get_if<RecordAnswer>(&result);
    const bool refused =
        answer != nullptr && answer->outcome == RecordAnswer::Outcome::not_owned && owner_;
    if (refused && sent_ < most_times && claims_->grown_from(*owner_, ask_.mutex) != versions_) {
      send();
    } else {
      handler_(result);
    }
  }

  /// Databases have signed numbers. No version gets that far.
  static std::uint64_t representable(std::uint64_t version) noexcept {
    return std::min<std::uint64_t>(version, std::numeric_limits<std::int64_t>::max() - 1);
  }

  static constexpr int most_times = 5;

  const std::shared_ptr<StatementPool> pool_;
  const std::shared_ptr<const Claims> claims_;
  const std::optional<RecordOwner> owner_;
  RecordAsk ask_;
  const RecordHandler handler_;
  Claims::Versions versions_{};
  int sent_ = 0;
};

/// Threads: see LeaseStore. A request is answered on a thread of the pool, or inside the call.
class SqlStore final : public engine::LeaseStore,
                       public MutexRecords,
                       public std::enable_shared_from_this<SqlStore> {
 public:
  SqlStore(std::shared_ptr<Database> database, const SqlPlan& plan,
           std::shared_ptr<const Runtime> runtime)
      : runtime_{std::move(runtime)},
        database_{std::move(database)},
        plan_{plan},
        hub_{std::make_shared<WatchHub>(runtime_->clock)} {}

  NameLimits name_limits() const noexcept override { return {}; }

  /// A hint that is lost costs a round of looks; then it is asked for.
  WorstCases worst_cases(const ContentionPlan& plan) const override {
    WorstCases worst = simba::worst_cases(plan);
    const std::size_t watched = hub_->names()->size();
    const std::chrono::nanoseconds without_hint = plan_.round(watched) + plan.request_timeout;
    worst.hand_over_without_notice = std::min(worst.take_over, without_hint);
    worst.looks = plan_.looks();
    if (plan_.sees_gone_owners) worst.take_over_when_gone = worst.hand_over_without_notice;
    return worst;
  }

  std::shared_ptr<void> attach() override {
    return opened_.attach(shared_from_this(), [this] {
      return std::make_shared<Opened>(database_, plan_, runtime_, hub_);
    });
  }

  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    change(Change::acquire, request, 0, std::move(handler));
  }

  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    change(Change::guard, request, 0, std::move(handler));
  }

  // There is no queue to leave, so without a token there is nothing but to see who owns it, once an
  // acquisition that may still be under way is answered.
  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    if (token != 0) {
      change(Change::release, request, token, std::move(handler));
      return;
    }
    serve(std::move(handler), [&](const Opened& opened, AnswerHandler next) {
      opened.pool().look(request.mutex, request.contender_id,
                         [claims = opened.claims(), request, clock = runtime_->clock,
                          then = std::move(next)](const Result<std::optional<Row>>& result) {
                           then(claims->answered(Change::release, request, {}, result,
                                                 answer_of(result), clock->now()));
                         });
    });
  }

  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    serve(std::move(handler), [&](const Opened& opened, AnswerHandler next) {
      opened.pool().look(request.mutex, {},
                         [then = std::move(next)](const Result<std::optional<Row>>& result) {
                           then(answer_of(result));
                         });
    });
  }

  std::unique_ptr<engine::Watch> watch(const LeaseRequest& request,
                                       NoticeHandler handler) override {
    const auto opened = opened_.get();
    auto subscription = std::make_shared<Subscription>(request.mutex, std::move(handler));
    const bool is_new = hub_->add(subscription);
    auto watch = std::make_unique<HubWatch>(hub_, std::move(subscription));
    opened->begin_watching(is_new);
    // The first notice. Where it fails the watcher's look does the same a little later.
    opened->pool().look(request.mutex, {},
                        [mutex = request.mutex, hub = hub_, asked_at = runtime_->clock->now()](
                            const Result<std::optional<Row>>& result) {
                          tell(*hub, mutex, answer_of(result), asked_at);
                        });
    return watch;
  }

  MutexRecords* records() noexcept override { return this; }

  void read(const std::string& mutex, RecordHandler handler) override {
    serve(std::move(handler), [&](const Opened& opened, RecordHandler next) {
      opened.pool().read_record(mutex, std::move(next));
    });
  }

  void write(const RecordWrite& write, RecordHandler handler) override {
    serve(std::move(handler), [&](const Opened& opened, RecordHandler next) {
      std::make_shared<RecordWriting>(opened.shared_pool(), opened.claims(), write, std::move(next))
          ->send();
    });
  }

 private:
  template <class Handler, class Function>
  void serve(Handler handler, const Function& function) {
    std::shared_ptr<Opened> opened;
    try {
      opened = opened_.get();
    } catch (const Error& error) {
      handler(error);
      return;
    }
    function(*opened, std::move(handler));
  }

  void change(Change change, const LeaseRequest& request, FencingToken token,
              AnswerHandler handler) {
    if (const auto error = refusal(request, name_limits())) {
      handler(*error);
      return;
    }
    // Others of this process that watch the mutex learn of it without a further trip.
    serve(std::move(handler), [&](const Opened& opened, AnswerHandler next) {
      const LocalTime now = runtime_->clock->now();
      const auto& claims = opened.claims();
      const auto version = claims->sending(change, request, token, now);
      opened.pool().change(
          change,
          {.mutex = request.mutex,
           .contender_id = request.contender_id,
           .ttl = request.ttl,
           .transition = request.transition,
           .version = version},
          [change, request, version, claims, hub = hub_, asked_at = now, clock = runtime_->clock,
           then = std::move(next)](const Result<std::optional<Row>>& result) {
            const LeaseAnswer answer = answer_of(result, change);
            then(claims->answered(change, request, version, result, answer, clock->now()));
            tell(*hub, request.mutex, answer, asked_at);
          });
    });
  }

  static void tell(WatchHub& hub, const std::string& mutex, const LeaseAnswer& answer,
                   LocalTime asked_at) {
    if (answer.record() == nullptr || !hub.watches(mutex)) return;
    LeaseRecord record = *answer.record();
    record.counted_from = asked_at;
    hub.saw(mutex, record);
  }

  // constant after construction
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<Database> database_;
  const SqlPlan plan_;
  const std::shared_ptr<WatchHub> hub_;

  engine::OpenWhileAttached<Opened> opened_{"SQL"};
};

}  // namespace

std::shared_ptr<engine::LeaseStore> make_sql_store(std::shared_ptr<Database> database,
                                                   const SqlOptions& options,
                                                   const SqlDefaults& defaults,
                                                   std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"an SQL store needs a runtime"};
  return std::make_shared<SqlStore>(std::move(database), SqlPlan{options, defaults},
                                    std::move(runtime));
}

std::unique_ptr<MutexServiceFactory> make_sql_factory(std::shared_ptr<Database> database,
                                                      const SqlOptions& options,
                                                      const SqlDefaults& defaults) {
  return std::make_unique<engine::LeaseServiceFactory>(
      make_sql_store(std::move(database), options, defaults, options.runtime), options.runtime,
      options.contention);
}

std::unique_ptr<MutexOwnerRepository> make_sql_repository(std::shared_ptr<Database> database,
                                                          const SqlOptions& options,
                                                          const SqlDefaults& defaults) {
  if (!options.runtime) throw InvalidArgumentError{"an SQL repository needs a runtime"};
  return std::make_unique<MutexOwnerRepository>(
      std::make_shared<StatementPool>(std::move(database), SqlPlan{options, defaults},
                                      options.runtime->log),
      options.runtime->clock);
}

}  // namespace simba::sql
