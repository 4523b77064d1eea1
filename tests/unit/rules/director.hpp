#pragma once

#include <chrono>

#include "unit/rules/network.hpp"
#include "unit/rules/outcome.hpp"
#include "unit/rules/stage.hpp"

namespace simba::rules {

/// How fast things happen. Each seed has its own.
struct Pace {
  std::chrono::nanoseconds trouble_lasts{0};
  std::chrono::nanoseconds calmness{0};  ///< between two events, at most
  std::chrono::nanoseconds lull{0};      ///< the same, for one in ten
  int toggles = 0;                       ///< of a thousand events: someone starts or stops
  std::chrono::nanoseconds patience{0};  ///< after the trouble every mutex has an owner by then
};

/// Lets the contenders on a stage start and stop while everything goes wrong, then while nothing
/// does, then stop for good. What can go wrong with the servers is known to that of the store.
class Director {
 public:
  virtual ~Director() = default;
  Director(const Director&) = delete;
  Director& operator=(const Director&) = delete;

  Outcome play();

 protected:
  Director(Stage& stage, Network& network, const Pace& pace)
      : world_{stage.world}, stage_{stage}, network_{network}, pace_{pace} {}

  /// One that has not crashed.
  Process& someone();
  void toggle_one();
  /// Another one takes its place.
  void crash(Process& process, bool server_hears);
  void go_on(std::chrono::nanoseconds span);
  /// A moment of the trouble.
  LocalTime in(std::chrono::nanoseconds least, std::chrono::nanoseconds most);

  World& world_;

 private:
  /// Something goes wrong, but for the stranger.
  virtual void disturb_others() = 0;
  /// From now on nothing goes wrong any more.
  virtual void calm() = 0;
  virtual void watch_hand_overs() = 0;

  void make_trouble();
  void make_peace();
  void end();
  void toggle(Process& process);
  void disturb();

  Stage& stage_;
  Network& network_;
  const Pace pace_;
  LocalTime trouble_ends_ = never;
};

}  // namespace simba::rules
