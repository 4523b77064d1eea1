#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simba/core/mutex_records.hpp"
#include "simba/core/time.hpp"

namespace simba::sim {

/// A moment on the clock of the server, in nanoseconds.
using ServerTime = std::chrono::nanoseconds;

/// What the server keeps of one mutex.
struct Record {
  std::string owner{};  ///< empty: free
  ServerTime acquired_at{};
  ServerTime ttl_at{};
  ServerTime transition_at{};  ///< from then on anyone may acquire it
  FencingToken token = 0;      ///< of the owner, or the last one
  FencingToken first = 0;      ///< that of its first grant, if it was granted again while it owned
  std::uint64_t instance = 0;  ///< of the owner, or the last one
  std::size_t client = 0;      ///< the same

  friend bool operator==(const Record&, const Record&) = default;
};

struct Call {
  enum class Kind { acquire, guard, release, retrieve };
  Kind kind = Kind::retrieve;
  std::size_t client = 0;
  std::size_t mutex = 0;
  std::string contender{};
  std::chrono::nanoseconds ttl{};
  std::chrono::nanoseconds transition{};
  FencingToken token = 0;  ///< what a release gives back, or an acquisition takes over
  std::uint64_t instance = 0;
};

/// "acquire"
const char* name_of(Call::Kind kind) noexcept;

/// A request for the text that the server keeps beside a mutex.
struct TextCall {
  enum class Kind { read, write };
  Kind kind = Kind::read;
  std::size_t client = 0;
  std::size_t mutex = 0;
  RecordWrite write{};
  std::string contender{};  ///< of the condition; empty: there is none
  SystemTime now{};         ///< on the wall clock that counts
};

/// "read"
const char* name_of(TextCall::Kind kind) noexcept;

/// A message that the server sends unasked.
struct Push {
  enum class Kind { changed, renewed, granted };
  Kind kind = Kind::changed;
  std::size_t client = 0;
  std::uint64_t watch = 0;
  std::size_t mutex = 0;
  std::string contender{};  ///< empty: an observer
  Record record{};
};

/// "changed"
const char* name_of(Push::Kind kind) noexcept;

/// What the server offers to those who wait: hints are of a free mutex and of renewals.
enum class Offer { nothing, hints, grants };

/// The rules of the simulated store: who holds which mutex. It knows no network and takes the time
/// from its caller.
class Server {
 public:
  /// `sees_life`: it knows which clients are alive, as by a session. It lets nobody take over from
  /// a living one of the same id, and heeds no request of one that is gone.
  Server(std::size_t mutexes, Offer offer, bool sees_life = false);

  /// Carries the request out and answers with the record after it. What is to be told to others is
  /// in `pushes` then.
  Record execute(const Call& call, ServerTime now);

  /// The same with the text beside a mutex.
  RecordAnswer execute(const TextCall& call, ServerTime now);

  void subscribe(std::size_t client, std::uint64_t watch, std::size_t mutex,
                 const std::string& contender);
  void unsubscribe(std::size_t client, std::uint64_t watch);

  /// A client is gone for good.
  void forget_client(std::size_t client);

  /// All connections are gone; what it knows of the mutexes stays.
  void restart();

  /// The same, and it knows the mutexes and their texts as they were at `since`.
  void restart_without_memory(ServerTime since);

  Offer offer() const noexcept { return offer_; }
  bool sees_life() const noexcept { return sees_life_; }
  const Record& record(std::size_t mutex) const { return mutexes_[mutex].record; }
  const MutexRecord& text(std::size_t mutex) const { return mutexes_[mutex].text; }
  std::size_t waiters() const;
  bool waits(std::size_t mutex, const std::string& contender, std::size_t client) const;
  /// In words; empty: nobody watches.
  std::string any_watch() const;

  std::vector<Push> pushes;

 private:
  struct Waiter {
    std::string contender;
    std::size_t client;
    std::uint64_t instance;
    std::chrono::nanoseconds ttl;
    std::chrono::nanoseconds transition;
  };
  struct Mutex {
    Record record;
    std::deque<Waiter> waiters;
    std::deque<std::pair<ServerTime, Record>> journal;  // what was before, and until when
    MutexRecord text;
    std::deque<std::pair<ServerTime, MutexRecord>> texts;  // the same
  };
  struct Subscription {
    std::size_t client;
    std::uint64_t watch;
    std::size_t mutex;
    std::string contender;  // empty: an observer
  };

  void carry_out(Mutex& mutex, const Call& call, ServerTime now);
  RecordAnswer::Outcome judge(const Mutex& mutex, const TextCall& call, ServerTime now) const;
  void acquire(Mutex& mutex, const Call& call, ServerTime now);
  void guard(Mutex& mutex, const Call& call, ServerTime now);
  void release(Mutex& mutex, const Call& call, ServerTime now);
  void grant(Mutex& mutex, const Waiter& to, ServerTime now);
  bool grant_to_waiter(Mutex& mutex, const Call& call, ServerTime now);
  void wait(Mutex& mutex, const Call& call);
  static Waiter waiter_of(const Call& call);
  void wait_no_longer(Mutex& mutex, const std::string& contender);
  void tell(std::size_t mutex, bool waiters_too, Push::Kind kind = Push::Kind::changed);
  bool seen_alive(std::size_t client) const { return sees_life_ && !gone_.contains(client); }

  const Offer offer_;
  const bool sees_life_;
  std::set<std::size_t> gone_;  // clients
  std::vector<Mutex> mutexes_;
  std::vector<Subscription> subscriptions_;
};

}  // namespace simba::sim
