#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/slot_record.hpp"
#include "sim/checker.hpp"
#include "sim/world/network.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba::sim {

/// How a run ended, by the account of the work itself.
enum class WorkEnd {
  well,         ///< it has done everything, told to stop or not
  badly,        ///< it threw
  interrupted,  ///< it was told to stop, and left something undone
};

/// What has become of slots.
struct SlotCounts {
  std::uint64_t begun = 0;
  std::uint64_t repeated = 0;     ///< attempts after the first one
  std::uint64_t passed_over = 0;  ///< reported as missed or skipped
  std::uint64_t lost = 0;         ///< runs reported as lost
  std::uint64_t judged = 0;       ///< slots that came in peace, and were begun or reported

  SlotCounts& operator+=(const SlotCounts& more) {
    begun += more.begun;
    repeated += more.repeated;
    passed_over += more.passed_over;
    lost += more.lost;
    judged += more.judged;
    return *this;
  }
};

/// Watches slots that are shared through the store, and says what is wrong. It goes by what the
/// work did and by true time; of a record it takes only what the store knows, and when.
class SlotRules {
 public:
  SlotRules(const Scene& scene, Checker& checker, Network& network);

  /// The schedule of a mutex. `agreed`: all who share it say so.
  void expect(std::size_t mutex, const ScheduleConfig& config, bool agreed);
  void add(const Party& party);
  /// A process is about to crash.
  void crashes() { note_peaks(); }

  /// The work is called. Says whether it may be done.
  bool begins(Party& party, const Run& run);
  void ends(Party& party, const Slot& slot, WorkEnd how);
  void told(Party& party, const SlotEvent& event);

  /// In peace, now and then: nothing is left that somebody should have done by now.
  void check();

  const SlotCounts& counts() const noexcept { return counts_; }

 private:
  struct Attempt {
    LocalTime told{};              // when the store heard that it begins
    const Party* by = nullptr;     // whose work began it
    LocalTime ended = never;       // the work
    std::optional<WorkEnd> how{};  // not set: it runs, or it is over without a word
    LocalTime recorded = never;    // when the store heard that it ended well
  };
  struct Begun {
    SystemTime time{};
    bool triggered = false;
    std::map<int, Attempt> attempts{};
  };
  struct Word {
    LocalTime at{};
    SystemTime wall{};
    bool lost = false;  // the server has forgotten it
  };
  /// Somebody leads, and nothing has happened since that could excuse anything.
  struct Term {
    const Party* leader = nullptr;
    FencingToken token = 0;
    std::size_t starts = 0;
    LocalTime since = never;
    SystemTime from{};  // no clock has shown more by then
  };
  struct Mutex {
    ScheduleConfig config{};
    bool agreed = true;
    std::vector<const Party*> parties{};
    std::map<std::uint64_t, Begun> slots{};  // whose work has begun, by their numbers
    // What the store heard of beginnings: number, attempt, token.
    std::map<std::tuple<std::uint64_t, int, FencingToken>, Word> words{};
    std::set<SystemTime> triggers{};
    std::vector<std::pair<SystemTime, SystemTime>> reported{};  // from, to
    detail::SlotRecord record{};
    LocalTime written{};
    LocalTime resumed{};
    LocalTime trigger_since = never;
    LocalTime busy_until{};               // when work last began or ended
    SystemTime peak = SystemTime::min();  // the latest time before a clock was set
    SystemTime judged_until = SystemTime::min();
    Term term{};
  };

  void executed(const TextCall& call, const RecordAnswer& answer);
  void forgot(LocalTime since, LocalTime until);
  void check_owner(std::size_t number, const RunReport& run);
  void note_peaks();
  void check_number(const Mutex& mutex, const Party& party, const Slot& slot);
  void check_attempt(const Mutex& mutex, const Party& party, const Slot& slot, const Begun& before);
  bool owes_a_word(const Party& party, FencingToken token) const;
  bool follow_term(Mutex& mutex);
  SystemTime latest_shown(const Mutex& mutex) const;
  void check_came(Mutex& mutex);
  void check_unfinished(const Mutex& mutex);
  void check_record(const Mutex& mutex);
  static int last_attempt(const Mutex& mutex, std::uint64_t number);
  bool unfinished(const Mutex& mutex, std::uint64_t number) const;
  bool reported(const Mutex& mutex, SystemTime time) const;
  bool busy(const Mutex& mutex) const;
  nanoseconds period(const Mutex& mutex) const;
  SystemTime next_on_grid(const Mutex& mutex, SystemTime after) const;
  SystemTime wall(const Mutex& mutex) const;
  Mutex* find(std::size_t mutex);
  LocalTime now() const { return scene_.world.now(); }
  std::string words(const Party& party, const Slot& slot) const;

  const Scene scene_;
  Checker& checker_;
  Network& network_;
  std::map<std::size_t, Mutex> mutexes_;
  LocalTime last_loss_ = LocalTime::min();
  SlotCounts counts_;
};

}  // namespace simba::sim
