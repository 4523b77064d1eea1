#include "chaos/faults/driver.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "chaos/contenders/crew.hpp"
#include "chaos/raw_clock.hpp"
#include "chaos/servers/servers.hpp"
#include "support/patience.hpp"

namespace simba::chaos {

using namespace std::chrono_literals;

struct Driver::Active {
  const FaultKind* kind = nullptr;
  std::int64_t begin = 0;
  Place before{};
  Running running{};
  std::int64_t in_force = 0;  // from then on for certain
};

Driver::Driver(const Scene& scene, const std::vector<FaultKind>& kinds, const Settings& settings,
               const std::atomic<bool>& interrupted)
    : scene_{scene},
      kinds_{kinds},
      settings_{settings},
      interrupted_{interrupted},
      random_{settings.seed} {
  shuffle_into_deck(true);
}

bool Driver::begin() {
  return support::eventually([&] {
    return interrupted_.load() || (scene_.crew.owner(0).has_value() && scene_.crew.owner(1));
  });
}

void Driver::shuffle_into_deck(bool only_basic) {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].basic || !only_basic) {
      deck_.push_back(i);
    }
  }
  // Not std::shuffle, whose order is the library's own.
  for (auto i = deck_.size(); i > 1; --i) {
    std::swap(deck_[i - 1], deck_[random_() % i]);
  }
}

const FaultKind& Driver::draw() {
  if (deck_.empty()) {
    basics_done_ = true;
    shuffle_into_deck(false);
  }
  const auto index = deck_.back();
  deck_.pop_back();
  return kinds_.at(index);
}

bool Driver::sleep(std::chrono::milliseconds span) const {
  const auto end = raw_now() + span / 1ns;
  while (raw_now() < end && !interrupted_.load()) {
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(5ms, std::chrono::nanoseconds{end - raw_now()}));
  }
  return !interrupted_.load();
}

std::chrono::milliseconds Driver::length_of(const FaultKind& kind) {
  const auto more = static_cast<std::uint64_t>((kind.longest - kind.shortest).count());
  return kind.shortest + std::chrono::milliseconds{random_() % (more + 1)};
}

Driver::Active Driver::start(const FaultKind& kind) {
  const auto before = place_of_role(kind);
  const auto begin = raw_now();
  auto running = kind.begin(scene_, random_);
  return {&kind, begin, before, std::move(running), raw_now()};
}

Driver::Place Driver::place_of_role(const FaultKind& kind) const {
  if (kind.may_move.empty()) {
    return {};
  }
  return {&scene_.servers.with_role(kind.may_move), scene_.servers.moves()};
}

FaultSpan Driver::finish(Active active) const {
  if (active.running.end) {
    active.running.end();
  }
  const auto end = raw_now();
  return {.kind = active.kind->name,
          .what = active.running.what,
          .lane = active.running.lane,
          .begin = active.begin,
          .end = end,
          .fails_over = place_of_role(*active.kind) != active.before,
          .holds_up_all = active.running.holds_up_all,
          .leaves_no_owner = active.kind->leaves_no_owner,
          .steps_wall_clock = active.kind->steps_wall_clock,
          .counts_from = active.kind->count_from == CountFrom::begin ? active.in_force : end,
          .bound = settings_.bound};
}

void Driver::await_owners(std::int64_t since) const {
  // Longer than allowed, so that a record shows by how much.
  const auto deadline = raw_now() + settings_.bound * 3 / 1ns;
  const auto both = [&] {
    return scene_.crew.owned_since(0, since) && scene_.crew.owned_since(1, since);
  };
  while (!both() && raw_now() < deadline && sleep(1ms)) {
  }
}

void Driver::run(std::vector<FaultSpan>& faults) {
  const auto deadline = raw_now() + settings_.length / 1ns;
  const auto basics_left = [&] { return !basics_done_ && !deck_.empty(); };
  while ((raw_now() < deadline || basics_left()) && !interrupted_.load()) {
    const auto& kind = draw();
    auto first = start(kind);
    const auto before = first.before;
    sleep(length_of(kind));
    // A second one inside the first. Its time without an owner counts from the end of both.
    std::optional<FaultSpan> inner;
    if (basics_done_ && random_() % 8 == 0) {
      const auto& second = draw();
      if (second.name != kind.name && !(second.on_servers && kind.on_servers)) {
        auto active = start(second);
        sleep(length_of(second) / 2);
        inner = finish(std::move(active));
      }
    }
    auto outer = finish(std::move(first));
    outer.counts_from = inner ? outer.end : outer.counts_from;
    outer.alone = !inner.has_value();
    if (inner) {
      inner->counts_from = outer.end;
      inner->alone = false;
    }
    const auto since = outer.end;
    const auto index = faults.size();
    faults.push_back(std::move(outer));
    if (inner) {
      faults.push_back(std::move(*inner));
    }
    await_owners(since);
    // Servers may have been about to when the fault ended.
    faults[index].fails_over = faults[index].fails_over || place_of_role(kind) != before;
    sleep(std::chrono::milliseconds{100 + random_() % 500});
  }
}

}  // namespace simba::chaos
