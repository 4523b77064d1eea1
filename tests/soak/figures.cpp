#include "soak/figures.hpp"

#include "soak/process_figures.hpp"

namespace simba::soak {

void Figures::Series::add(double at, pid_t process) {
  const auto found = figures_of(process);
  if (!found) return;
  memory.push_back({at, found->memory});
  threads.push_back({at, found->threads});
  descriptors.push_back({at, found->descriptors});
}

Judged Figures::Series::judged(double seconds) const {
  return {.memory = thirds_of(memory, seconds),
          .threads = thirds_of(threads, seconds),
          .descriptors = thirds_of(descriptors, seconds)};
}

void Figures::sample(double at, const Crew& crew, const Store& store) {
  for (std::size_t place = 0; place < crew.size(); ++place) {
    if (crew.is_core(place)) workers_[place].add(at, crew.process(place));
  }
  if (store.process()) server_.add(at, *store.process());
  if (store.port()) connections_.push_back({at, connections_to(*store.port())});
}

std::vector<Judged> Figures::workers(double seconds) const {
  std::vector<Judged> all;
  for (const auto& [place, series] : workers_) all.push_back(series.judged(seconds));
  return all;
}

std::optional<Judged> Figures::server(double seconds) const {
  if (server_.memory.empty()) return std::nullopt;
  return server_.judged(seconds);
}

std::optional<Thirds> Figures::connections(double seconds) const {
  if (connections_.empty()) return std::nullopt;
  return thirds_of(connections_, seconds);
}

Thirds worst(const std::vector<Judged>& all, Thirds Judged::*figure) {
  Thirds found;
  for (const Judged& one : all) {
    const Thirds& thirds = one.*figure;
    if (!found.known || thirds.last - thirds.first > found.last - found.first) found = thirds;
  }
  return found;
}

}  // namespace simba::soak
