#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace simba::detail {

/// A queue that seldom holds more than two: those need no memory of their own.
template <class T>
class ShortQueue {
 public:
  bool empty() const noexcept { return !first_[0]; }

  std::size_t size() const noexcept {
    return static_cast<std::size_t>(first_[0].has_value()) +
           static_cast<std::size_t>(first_[1].has_value()) + rest_.size();
  }

  void push_back(T value) {
    if (!first_[0]) {
      first_[0].emplace(std::move(value));
    } else if (!first_[1]) {
      first_[1].emplace(std::move(value));
    } else {
      rest_.push_back(std::move(value));
    }
  }

  void push_front(T value) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it does not see through the array
    if (first_[1]) rest_.push_front(*std::move(first_[1]));
    first_[1] = std::exchange(first_[0], std::move(value));
  }

  /// Only if it is not empty.
  T pop_front() {
    T value = *std::move(first_[0]);  // NOLINT(bugprone-unchecked-optional-access)
    first_[0] = std::exchange(first_[1], std::nullopt);
    if (!rest_.empty()) {
      first_[1] = std::move(rest_.front());
      rest_.pop_front();
    }
    return value;
  }

 private:
  std::array<std::optional<T>, 2> first_;
  std::list<T> rest_;
};

}  // namespace simba::detail
