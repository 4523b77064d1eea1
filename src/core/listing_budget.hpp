#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::detail {

/// How much text a listing of mutexes may collect: a store whose names never end, or whose owners
/// have huge ids, must not take up all memory.
class ListingBudget {
 public:
  static constexpr std::size_t most = 128UL * 1024 * 1024;

  /// `place` names the store in the error.
  explicit ListingBudget(std::string place) : place_{std::move(place)} {}

  /// Throws Error if this, with what was spent before, is too much.
  void spend(std::string_view text) {
    constexpr std::size_t for_an_empty_one = 200;  // the overhead of each
    spent_ += text.size() + for_an_empty_one;
    if (spent_ <= most) return;
    throw Error{
        ErrorKind::unsupported,
        fmt::format("{} has too many mutexes to list, or their names and owners are too long "
                    "(limit: {} MiB); name one mutex with -m",
                    place_, most / (1024UL * 1024))};
  }

 private:
  const std::string place_;
  std::size_t spent_ = 0;
};

}  // namespace simba::detail
