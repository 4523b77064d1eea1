#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/stage.hpp"

namespace simba::sim {

/// A server notices within this time, and within a lease, that a process is gone.
inline constexpr nanoseconds dead_noticed = std::chrono::seconds{2};

/// Makes things go wrong on a stage, then right, then end. How, follows from the seed.
class Director {
 public:
  explicit Director(Stage& stage);

  void make_trouble();
  void make_peace();
  void be_quiet();
  /// Says whether everything has ended.
  bool end();
  std::size_t events() const noexcept { return events_; }

 private:
  void go_on(nanoseconds span);
  bool pass(nanoseconds span);
  bool step(LocalTime until);
  bool chance(int per_thousand) { return world_.chance(per_thousand); }
  std::size_t some_place() { return world_.below(stage_.places()); }
  void on(User& user, const std::function<void(User&)>& what, nanoseconds delay = {});
  void start_all();
  void toggle();
  void disturb();
  void make_forget();
  void disturb_server();
  void step_wall_clock(Host& host);
  void steer();
  void pause(Host& host);
  void crash(std::size_t place);
  User* some_owner();
  bool any_host_in_trouble() const;
  void crash_an_owner();
  std::string busiest() const;
  void check_views();
  void check_nothing_is_left();

  Stage& stage_;
  World& world_;
  Checker& checker_;
  Network& network_;
  std::size_t events_ = 0;
  LocalTime moment_{};
  std::size_t at_once_ = 0;           // events since then
  std::vector<std::size_t> by_then_;  // what each process had done when there were many
  nanoseconds calmness_;              // between two doings, at most
  int toggles_;                       // of a thousand doings
  int violence_;                      // of a thousand doings: crashes and the like
  nanoseconds trouble_lasts_;
  bool restless_;  // in peace, too, everyone starts and stops all the time, and messages take long
  Weather weather_{};
  std::size_t crashes_ = 0;
  std::size_t returning_ = 0;  // processes that have crashed and will be followed by another
  bool ending_ = false;        // nobody comes back
};

}  // namespace simba::sim
