#include "soak/crew.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "support/patience.hpp"

namespace simba::soak {

Crew::Crew(Options options) : options_{std::move(options)}, places_(options_.processes) {
  for (std::size_t place = 0; place < places_.size(); ++place) start(place);
}

void Crew::start(std::size_t place) {
  Options options = options_;
  options.worker = place;
  options.life = places_[place].life++;
  auto words = words_of(options);
  words.insert(words.begin(), support::own_program().string());
  places_[place].process =
      std::make_unique<support::ChildProcess>(words, support::ChildProcess::Variables{});
  places_[place].told = false;
}

void Crew::kill(std::size_t place) {
  Place& one = places_.at(place);
  if (!one.process) return;
  one.process->kill();
  ++kills_;
  start(place);
}

void Crew::stop(std::size_t place) {
  Place& one = places_.at(place);
  if (!one.process || std::exchange(one.told, true)) return;
  one.process->signal(SIGTERM);
}

void Crew::look_after() {
  for (std::size_t place = 0; place < places_.size(); ++place) {
    const auto& process = places_[place].process;
    if (process && !process->running()) ended(place);
  }
}

void Crew::ended(std::size_t place) {
  Place& one = places_[place];
  const int code = one.process->wait();
  one.process.reset();
  if (one.told && code == 0) {
    ++stops_;
  } else {
    faults_ += fmt::format("worker {} ended {}, with {}\n", place,
                           one.told ? "badly" : "although nobody told it to", code);
  }
  if (!ending_) start(place);
}

void Crew::end(std::chrono::seconds limit, const std::atomic<bool>& interrupted) {
  ending_ = true;
  const std::uint64_t before = stops_;
  for (std::size_t place = 0; place < places_.size(); ++place) stop(place);
  const auto all_ended = [this] {
    look_after();
    return std::none_of(places_.begin(), places_.end(),
                        [](const Place& place) { return place.process != nullptr; });
  };
  const bool in_time = support::within(limit, [&] { return interrupted || all_ended(); });
  if (!in_time) {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      if (!places_[place].process) continue;
      faults_ += fmt::format("worker {} did not stop within {} s\n", place, limit.count());
      places_[place].process.reset();
    }
  }
  stops_ = before;  // the end is none of those on the way
}

}  // namespace simba::soak
