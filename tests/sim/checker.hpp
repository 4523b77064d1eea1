#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/host.hpp"
#include "sim/world/server.hpp"
#include "simba/client/lock.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::sim {

/// What must hold.
enum class Rule {
  none,
  two_owners,           ///< by their own clocks
  deadline,             ///< an owner believes for longer than the store keeps others out
  token_order,          ///< an ownership whose token is not greater than all before
  callback_order,       ///< on_acquired and on_released do not take turns
  callback_after_stop,  ///< one begins although stop() has returned
  early_release,        ///< the store hears of it before the owner is done
  silent_loss,          ///< the mutex is granted on before the loss was signalled
  kept_grant,           ///< one that comes after stop() is not given back
  late_renewal,         ///< the store renews a lease that is over
  no_owner,             ///< long after all faults have ended
  leak,                 ///< something is left after all have stopped
  slow_stop,            ///< beyond its bound
  wrong_view,           ///< an observer names another owner than the store
  late_return,          ///< an acquire beyond its time
  work_order,           ///< work began though work with a greater token had, or without the lead
  lost_update,          ///< on a resource that checks tokens
  internal_error,       ///< the library says so itself
  standstill,           ///< things happen without end while no time passes
  early_loss,           ///< an ownership ends though nothing speaks against it
  overlooked_loss,      ///< the store has said that it is not the owner, and it still is
  unnoticed_namesake,   ///< two use one id, and who was taken over has not noticed at its renewal,
                        ///< or who may not take over waits for ever
  false_namesake,       ///< one has noticed another that is not there
  taking_turns,         ///< one that has noticed another under its id asks or owns again
  wrong_lease,          ///< lease_until() shows more than the store keeps, or nothing of it; or the
                        ///< store was asked for another ttl
  false_alarm,          ///< the server's clock is said to be too fast, though it is not
  held_too_long,        ///< a lock, beyond its max_hold
  slot_twice,           ///< begun again though that was not promised, or not needed
  slot_dropped,         ///< neither begun nor reported, or not begun again though that was promised
  slot_order,           ///< numbers or times of slots do not grow, or an attempt has other ones
  slot_early,           ///< begun before its time by the clock of the store
  slot_unowned,         ///< begun without a valid lease
  slot_unrecorded,      ///< begun before the store has heard of it, or the mutex was given back
                        ///< before the store has heard how it ended
};

/// What messages take in peace, and threads to wake up, several times over.
inline constexpr nanoseconds unhurried = std::chrono::milliseconds{250};

/// For people and for tests: "two-owners".
std::string_view name_of(Rule rule) noexcept;

/// One contender of one process, as the checker sees it.
struct Party {
  enum class Kind { candidate, locker, client, scheduler };

  Kind kind = Kind::candidate;
  std::string id{};
  std::size_t mutex = 0;
  Host* host = nullptr;
  const MutexContendService* service = nullptr;  ///< while it exists
  const Lock* lock = nullptr;                    ///< of a client, while it has one
  std::shared_ptr<const ContentionPlan> plan{};  ///< empty: that of all

  // Its present ownership by its own account.
  bool owner = false;
  FencingToken token = 0;
  std::stop_token lost{};
  LocalTime granted = LocalTime::min();  ///< when the store said so
  LocalTime lease_end{};                 ///< by its own clock, at the least
  bool refused = false;                  ///< the store has said since that it is not the owner
  bool let_go = false;                   ///< it was stopped since

  // What its ownership rests on: the newest word of the store that has reached it.
  LocalTime heard_sent = LocalTime::min();   ///< when it was asked for
  LocalTime heard_given = LocalTime::min();  ///< when the store said it
  bool news = false;
  bool overdue = false;     ///< its lease had ended before it was renewed or asked to release
  bool gives_back = false;  ///< it has asked to release since a grant came that it does not want
  FencingToken given_back = 0;  ///< the greatest token that it has asked to release

  bool inside = false;           ///< between on_acquired and the end of on_released, or in the work
  bool in_callback = false;      ///< one runs now, or the work
  bool stopped = true;           ///< no callback may begin
  bool excused_turn = false;     ///< a callback was dropped because another took too long
  LocalTime stop_began = never;  ///< while it runs
  bool owned_at_stop = false;    ///< when that began
  bool asked_by_then = false;    ///< it had begun to ask in this life
  LocalTime withheld_until = LocalTime::min();  ///< by its own clock; gives nothing back till then
  bool stopped_in_trouble = false;  ///< a message of its last stop may have got lost or be late
  std::size_t starts = 0;           ///< how often it has begun to contend
  LocalTime contends_since = never;
  bool barred = false;  ///< it has said, since it was started, that another uses its id

  // What its service says of its lease, and whether that was a lease that lasts.
  LocalTime lease_until = LocalTime::min();
  bool shows_lease = false;
};

/// Watches a run and says what is wrong. It never changes anything.
class Checker {
 public:
  Checker(const Scene& scene, std::size_t mutexes, const ContentionPlan& plan);

  Party& add(Host& host, Party::Kind kind, std::size_t mutex, const std::string& id);

  /// Some contenders share their id with others. Then only the rules about that are judged, and
  /// those that hold for each process alone. `kept_apart`: the store sees who is alive, so there
  /// are no two owners either.
  void expect_namesakes(bool kept_apart = false) noexcept {
    namesakes_ = true;
    kept_apart_ = kept_apart;
  }

  bool failed() const noexcept { return rule_ != Rule::none; }
  Rule rule() const noexcept { return rule_; }
  const std::string& what() const noexcept { return what_; }
  void fail(Rule rule, std::string what);

  // ---- the engine --------------------------------------------------------------------------
  /// Something of this process has run.
  void look(const Host& host);
  /// The process is gone, and owns nothing.
  void crashed(const Host& host);
  /// The library logs an error.
  void logged(const Host& host, std::string_view message);
  /// The store's word on its own lease has reached a contender, under that token.
  void heard(const Host& host, const std::string& id, LocalTime sent, LocalTime given,
             FencingToken token);
  /// A renewal that was sent then is answered: the contender owns under that token, or not at all
  /// (0).
  void renewal_answered(const Host& host, const std::string& id, LocalTime sent,
                        FencingToken token);
  /// A notice has reached a contender.
  void nudged(const Host& host, const std::string& id);
  /// A grant that it has asked or waited for is about to reach a contender, or has just reached it.
  void grant_arrives(const Host& host, const std::string& id);
  void grant_arrived(const Host& host, const std::string& id, FencingToken token);
  /// A contender asks for the mutex.
  void asks_to_acquire(const Host& host, const std::string& id);
  /// A contender asks the store to release.
  void asks_to_release(const Host& host, const std::string& id, FencingToken token);
  /// The answer to a release is about to reach it: it owns the mutex, under another token.
  void still_named(const Host& host, const std::string& id, FencingToken token);

  // ---- the server --------------------------------------------------------------------------
  void executed(const Call& call, const Host& caller, const Record& before, const Record& after);
  void forgot(LocalTime since, LocalTime until);
  /// Its ownership was granted or renewed in a second that the server has forgotten.
  bool rests_on_a_loss(const Party& party) const {
    return excused(party) || forgotten(party.granted);
  }
  /// The present record, and the true moment at which its lease ends.
  std::function<const Record&(std::size_t mutex)> record_of{};
  std::function<LocalTime(ServerTime)> server_true{};
  /// Whether the server has that contender of that client in its queue.
  std::function<bool(std::size_t mutex, const std::string& contender, std::size_t client)> queues{};
  /// When the last message of that client was lost or late.
  std::function<LocalTime(std::size_t client)> calm_since{};
  /// Whether it has ended a run under that token of which the store has not heard.
  std::function<bool(const Party& party, FencingToken token)> owes_a_word{};

  // ---- users -------------------------------------------------------------------------------
  void started(Party& party);
  /// It wants the mutex, and asks for it after the initial delay.
  void contends(Party& party);
  void stop_begins(Party& party);
  void stop_returned(Party& party);
  /// No callback of it may begin any more. Part of `stop_returned`.
  void has_stopped(Party& party);
  void acquired_begins(Party& party);
  void released_begins(Party& party);
  void callback_ends(Party& party, bool released);
  /// What it holds by its own clock is to run out, if it is being stopped.
  void withholds(Party& party, LocalTime lease_until);
  /// One that tells of slots.
  void hook_begins(Party& party);
  /// Says whether it may be done: its owner may have given up waiting, and be gone.
  bool work_begins(Party& party);
  void work_ends(Party& party);
  /// It has stopped in peace, for good, and what it had of the library is destroyed.
  void gone(const Party& party);
  /// `took` on the clock of the host; time in which it was paused is not counted.
  void took(const Party& party, Rule rule, std::string_view what, nanoseconds took,
            nanoseconds bound);

  // ---- peace -------------------------------------------------------------------------------
  /// Those who are in a callback or work, in processes that run.
  std::vector<const Party*> busy() const;
  void peace_begins();
  void check_owners();
  /// The library's own word on how long a take-over takes at most, and what messages take.
  nanoseconds owner_bound() const noexcept { return owner_bound_; }
  nanoseconds worst_gap() const noexcept { return worst_gap_; }

  std::size_t ownerships() const noexcept { return ownerships_; }
  std::size_t excused() const noexcept { return excused_count_; }
  /// How often an owner was taken over by one of the same id.
  std::size_t overtaken() const noexcept { return overtaken_; }
  /// How often one was not let in since another of the same id is alive.
  std::size_t kept_out() const noexcept { return kept_out_; }
  const ContentionPlan& plan() const noexcept { return plan_; }
  const ContentionPlan& plan_of(const Party& party) const noexcept {
    return party.plan ? *party.plan : plan_;
  }
  nanoseconds stop_bound() const noexcept { return plan_.release_wait + plan_.drain_limit; }

 private:
  struct Span {
    LocalTime since;
    LocalTime until;
  };
  struct Mutex {
    std::vector<Party*> parties;
    FencingToken top_token = 0;    // of all ownerships
    FencingToken top_granted = 0;  // of all grants of the server
    FencingToken top_work = 0;
    LocalTime unowned_since{};
  };

  void begun(Party& party, FencingToken token);
  void ended(Party& party);
  void check_alone(const Party& party);
  void check_signal(const Party& party);
  void check_reason(const Party& party);
  void check_has_left(const Party& party);
  void check_deadline(const Party& party);
  void check_lease(Party& party);
  void check_lease_is_shown(const Party& party);
  void granted(const Record& before, const Record& record, std::size_t mutex);
  void check_ttl(const Party& party, const Record& record);
  void check_wind_up(const Party& party, const Record& last);
  void released(const Call& call, const Host& caller);
  Party* find(const Host& host, const std::string& id) const;
  void check_noticed(Party& overtaken, FencingToken by);
  void check_gives_up(Party& waiter, FencingToken of_other);
  bool forgotten(LocalTime at) const;
  bool excused(const Party& party) const;
  bool unwanted(const Party& party) const;
  bool withheld(const Party& party) const;
  bool drain_is_over(const Party& party) const;
  bool lease_is_over(const Party& party) const;
  bool names(const Record& record, const Party& party) const;
  bool owned(const Mutex& mutex) const;
  nanoseconds gap(const Mutex& mutex) const;
  void check_gap(const Mutex& mutex);
  std::string words(const Party& party) const;

  const Scene scene_;
  const ContentionPlan& plan_;
  const nanoseconds owner_bound_;
  std::deque<Party> parties_;
  std::vector<std::vector<Party*>> of_host_;
  std::vector<Mutex> mutexes_;
  std::vector<Span> forgotten_;
  bool namesakes_ = false;
  bool kept_apart_ = false;
  std::size_t overtaken_ = 0;
  std::size_t kept_out_ = 0;
  LocalTime peace_since_ = never;
  nanoseconds worst_gap_{0};
  std::size_t ownerships_ = 0;
  std::size_t excused_count_ = 0;
  Rule rule_ = Rule::none;
  std::string what_;
};

}  // namespace simba::sim
