#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "chaos/faults/fault.hpp"

namespace simba::support {
class Server;
}

namespace simba::chaos {

/// Does harm for a while: first each basic fault, then all others, one after the other, now and
/// then two at once, with a pause between in which somebody must own each mutex again. Which, when
/// and how long follow from the seed; whom they hit also from who owns the mutexes.
///
/// Threads: used by one thread. `interrupted` may be set by any, also by a signal.
class Driver {
 public:
  struct Settings {
    std::chrono::seconds length{};  ///< longer where the basic faults take longer
    std::uint64_t seed = 1;
    std::chrono::milliseconds bound{};  ///< as Store::bound
  };

  Driver(const Scene& scene, const std::vector<FaultKind>& kinds, const Settings& settings,
         const std::atomic<bool>& interrupted);

  /// Waits until both mutexes have an owner. False: that takes longer than half a minute.
  bool begin();

  /// Adds all faults to `faults`, in the order of their begin; also where it throws, those before.
  void run(std::vector<FaultSpan>& faults);

 private:
  struct Active;

  void shuffle_into_deck(bool only_basic);
  const FaultKind& draw();
  bool sleep(std::chrono::milliseconds span) const;
  std::chrono::milliseconds length_of(const FaultKind& kind);
  Active start(const FaultKind& kind);
  FaultSpan finish(Active active) const;
  /// Where the role that may move is: null for a fault that moves none.
  struct Place {
    const support::Server* server = nullptr;
    std::uint64_t moves = 0;  // until then: it may have moved away and back
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place place_of_role(const FaultKind& kind) const;
  void await_owners(std::int64_t since) const;

  const Scene scene_;
  const std::vector<FaultKind>& kinds_;
  const Settings settings_;
  const std::atomic<bool>& interrupted_;
  ChaosRandom random_;
  std::vector<std::size_t> deck_;  // of kinds that are still to come before one comes again
  bool basics_done_ = false;       // the deck is no longer the one of basic faults
};

}  // namespace simba::chaos
