#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/owner_view.hpp"
#include "simba/core/contend_period.hpp"
#include "simba/core/contention_event.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

/// A request that the machine wants sent. It comes back with the answer.
struct Request {
  enum class Kind { acquire, guard, release };
  Kind kind = Kind::acquire;
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;    ///< which ownership, or wait for one, it belongs to
  LocalTime sent_at{};        ///< from before it was sent
  FencingToken token = 0;     ///< what a release gives back, or an acquisition takes over
  LocalTime waiting_since{};  ///< of an acquisition: see LeaseRequest
};

struct Start {};
struct Stop {};
struct Tick {};
struct Drained {
  std::uint64_t drain = 0;  ///< which `Actions::drain` is over
};
struct Answered {
  Request request;
  LeaseAnswer answer;
};
struct Noticed {
  Notice notice;
  std::uint64_t life = 0;  ///< in which life the subscription was made
};

/// What the mutex protects may still be in use although `on_released` returns: the lease is neither
/// renewed nor given back.
struct Withhold {};

/// One that contended under the same id before has got the mutex, or may have: it is ours now.
struct Inherited {
  FencingToken token = 0;  ///< 0: unknown
};

using MachineEvent =
    std::variant<Start, Stop, Tick, Drained, Withhold, Answered, Noticed, Inherited>;

/// What is to be done after a step, in the order of the fields.
struct Actions {
  enum class Watching { unchanged, begin, end };

  std::optional<OwnerView> granted;     ///< we own from now on: begin a loss signal, then publish
  std::optional<OwnerView> renewed;     ///< the same ownership with a later deadline
  bool lost = false;                    ///< ownership ended without Stop
  std::vector<ContentionEvent> events;  ///< tell the contender
  std::optional<OwnerView> observed;    ///< publish: another, or nobody, owns it
  std::optional<std::uint64_t> drain;   ///< fire the loss signal, let the contender hear all that
                                        ///< is published, then report `Drained`
  bool drain_overrun = false;           ///< the lease ended while `on_released` still ran: log it
  bool withheld = false;                ///< the lease is left to run out: log it
  bool drained_too_long = false;        ///< so is it since `on_released` outlasts the drain limit
  Watching watching = Watching::unchanged;
  std::optional<Request> give_back;  ///< release what is not wanted any more; expect no answer
  std::optional<Request> send;
  bool settled = false;  ///< stopped, and the store has nothing more to do for us
  bool confirmed =
      false;  ///< with `settled`: the store has nothing under our name, as far as we know
};

/// The contention protocol of one contender, without threads, clock or I/O: every step is given the
/// time and returns the actions to perform.
///
/// Threads: steps must not overlap.
///
/// Its safety rule: a lease counts from before the request was sent, less margin
/// and drift, and every step first checks that deadline. An error or a missing answer is unknown,
/// not lost. A release goes out only after the contender's callbacks are over.
///
/// Namesakes: a mutex that another process owns under our id is taken over, since that process may
/// be an earlier one of ours that has crashed. An owner that is taken over this way does not
/// contend again: the two would take turns forever. Neither does a waiter that may not take over
/// and whose namesake outlives its lease.
class ContentionMachine {
 public:
  enum class Phase {
    idle,        ///< not started
    contending,  ///< asks, or waits to ask again
    owning,      ///< holds the lease and renews it
    draining,    ///< `on_released` runs; still renews when stopped, no longer after a loss
    expiring,    ///< stopped, and told not to give back what is held: it runs out
    lapsed,      ///< does not contend: AfterLoss::stay_out, or another process uses its id
    releasing,   ///< gives back what the store may have under our name
  };

  /// `renew_phase` shifts the renewal grid, so that processes do not renew in step.
  /// The text of `contender_id` must outlive the machine.
  ContentionMachine(std::shared_ptr<const ContentionPlan> plan, std::string_view contender_id,
                    AfterLoss after_loss, std::shared_ptr<Random> random,
                    std::chrono::nanoseconds renew_phase,
                    OwnerWatch owner_watch = OwnerWatch::ended);

  Actions step(const MachineEvent& event, LocalTime now);

  Phase phase() const noexcept { return phase_; }

  /// How often it was started. A notice says in which life its subscription was made: one that is
  /// under way when its life ends must not be taken for news of the next.
  std::uint64_t life() const noexcept { return life_; }

  /// When to step with `Tick` unless something else happens first.
  LocalTime wake_at() const noexcept;

  /// Until when this contender is the owner by its own account; the past when it is not.
  LocalTime owned_until() const noexcept;

  /// Until when nobody else can own the mutex, even while draining; the past when nothing is held.
  LocalTime lease_until() const noexcept;

  /// Until when its ttl lasts; the past when it is not the owner.
  LocalTime in_ttl_until() const noexcept;

 private:
  void on(const Start& event, LocalTime now, Actions& actions);
  void on(const Stop& event, LocalTime now, Actions& actions);
  void on(const Tick& event, LocalTime now, Actions& actions);
  void on(const Drained& event, LocalTime now, Actions& actions);
  void on(const Withhold& event, LocalTime now, Actions& actions);
  void on(const Answered& event, LocalTime now, Actions& actions);
  void on(const Noticed& event, LocalTime now, Actions& actions);
  void on(const Inherited& event, LocalTime now, Actions& actions);

  void expire(LocalTime now, Actions& actions);
  void time_out(LocalTime now, Actions& actions);
  void warn_at_risk(LocalTime now, Actions& actions);
  void send_due(LocalTime now, Actions& actions);

  void begin_contending(LocalTime now, LocalTime first_attempt);
  void begin_expiring(Actions& actions);
  void begin_releasing(FencingToken token, LocalTime until, LocalTime now, Actions& actions);
  void settle(Actions& actions);
  void lose(LossReason reason, const LeaseRecord* record, LocalTime counted_from, Actions& actions);

  void acquire_answered(const Answered& event, bool newest, LocalTime now, Actions& actions);
  void guard_answered(const Answered& event, bool newest, LocalTime now, Actions& actions);
  void release_answered(const Answered& event, bool newest, LocalTime now, Actions& actions);
  void answered_out_of_epoch(const Answered& event, LocalTime now, Actions& actions);
  bool believe_grant(const LeaseRecord& record, LocalTime counted_from, LocalTime now,
                     Actions& actions);
  void held_by_other(const LeaseRecord& record, LocalTime counted_from, LocalTime now,
                     Actions& actions);
  void held_by_namesake(const Answered& event, LocalTime now, Actions& actions);
  void stay_out(LocalTime now, Actions& actions);
  bool extend(const LeaseRecord& record, LocalTime counted_from, Actions& actions);
  void watch_clock(const LeaseRecord& record, LocalTime counted_from, LocalTime now,
                   Actions& actions);
  void request_failed(const Error& error, LocalTime now, Actions& actions);

  void change_noticed(const Notice& notice, LocalTime now, Actions& actions);
  void put_off_attempt(const Notice& notice, LocalTime now);
  void grant_noticed(const Notice& notice, LocalTime now, Actions& actions);
  void give_back(FencingToken token, LocalTime now, Actions& actions);
  void give_back_again(const Answered& event, LocalTime now, Actions& actions);
  void see(const LeaseRecord& record) noexcept;
  void hint(LocalTime now);

  void new_epoch();
  Request make_request(Request::Kind kind, FencingToken token, LocalTime now);
  std::chrono::nanoseconds retry_pause(const Error& error);
  std::chrono::milliseconds granted_by(const LeaseRecord& record) const noexcept;
  LocalLease own_lease(const LeaseRecord& record, LocalTime counted_from) const;
  LocalTime renewal_after(LocalTime counted_from, std::chrono::milliseconds granted) const;
  void set_watching(bool wanted, Actions& actions);
  OwnerView own_view(const LeaseRecord& record) const;
  bool names_us(const LeaseRecord& record) const noexcept;
  bool is_mine(const LeaseRecord& record) const noexcept;

  // constant after construction
  const std::shared_ptr<const ContentionPlan> plan_;
  const std::string_view contender_id_;
  const AfterLoss after_loss_;
  const std::shared_ptr<Random> random_;
  const ContendPeriod period_;
  const std::chrono::nanoseconds renew_phase_;
  const OwnerWatch owner_watch_;

  Phase phase_ = Phase::idle;
  bool wanted_ = false;      // between Start and Stop
  std::uint64_t life_ = 0;   // grows with every Start
  std::uint64_t epoch_ = 0;  // grows with every phase: answers of another epoch change nothing
  std::uint64_t requests_ = 0;
  std::uint64_t drains_ = 0;

  std::optional<Request> in_flight_;  // the newest request, until it is answered or timed out
  LocalTime next_attempt_ = never;    // when the next request of this phase is due
  LocalTime waiting_since_ = never;   // when it last began to contend
  int failures_ = 0;                  // in a row
  bool asked_ = false;                // the store may name us, as owner or as a waiter
  bool hinted_ = false;               // a hint came while a request was in flight
  bool barred_ = false;               // in this life: another uses our id
  FencingToken takes_over_ = 0;       // of a namesake, which has crashed or not
  std::optional<LocalTime> namesake_proven_{};  // alive, when it is still there at that time
  bool watching_ = false;

  bool lease_held_ = false;      // owning, draining after Stop, or expiring
  LocalLease lease_{};           // while lease_held_
  bool at_risk_ = false;         // of this lease, told already
  FencingToken token_ = 0;       // of the present ownership, as the contender knows it
  FencingToken last_token_ = 0;  // the newest of ours that the store has told us
  FencingToken seen_token_ = 0;  // the greatest of anyone
  LocalTime drain_until_ = never;
  bool withheld_ = false;                           // of the draining under way
  LocalTime running_out_until_ = LocalTime::min();  // what the life before left, until we ask

  FencingToken release_token_ = 0;
  LocalTime release_until_ = never;

  /// A moment on the store's clock, and one on ours that was certainly before it.
  struct ClockSample {
    LocalTime before{};
    StoreTime store{};
  };
  std::optional<ClockSample> clock_sample_{};  // of the last answer that the ownership rests on
  int clock_excess_ppm_ = 0;                   // the greatest in this life, beyond the allowance
  bool clock_reported_ = false;                // in this life
};

}  // namespace simba::engine
