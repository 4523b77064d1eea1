#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "soak/crew.hpp"
#include "soak/flatness.hpp"
#include "soak/store.hpp"

namespace simba::soak {

/// One kind of process over time, as its thirds: what is worst among several.
struct Judged {
  Thirds memory{};  ///< in KiB
  Thirds threads{};
  Thirds descriptors{};

  bool flat(const Rule& rule) const noexcept {
    return is_flat(memory, rule.memory) && is_flat(threads, rule.count) &&
           is_flat(descriptors, rule.count);
  }
};

/// The figures of the core of the crew and of the server, sampled on the way.
class Figures {
 public:
  /// Looks once, `at` seconds from the beginning.
  void sample(double at, const Crew& crew, const Store& store);

  /// By each worker of the core; `seconds` is how long it lasted.
  std::vector<Judged> workers(double seconds) const;

  /// Empty where it could not be looked at.
  std::optional<Judged> server(double seconds) const;
  std::optional<Thirds> connections(double seconds) const;

 private:
  struct Series {
    std::vector<Sample> memory{};
    std::vector<Sample> threads{};
    std::vector<Sample> descriptors{};

    void add(double at, pid_t process);
    Judged judged(double seconds) const;
  };

  std::map<std::size_t, Series> workers_;
  Series server_;
  std::vector<Sample> connections_;
};

/// The one that has grown most.
Thirds worst(const std::vector<Judged>& all, Thirds Judged::*figure);

}  // namespace simba::soak
