#pragma once

#include <utility>

namespace simba::detail {

/// Owns a value and destroys it, but never in a forked child: there its threads do not exist, its
/// locks may stay locked forever, and its epoll descriptor is still shared with the parent.
/// So the child leaks it, deliberately. `T` has `bool in_forked_child() const noexcept`.
template <typename T>
class LeakedInChild {
 public:
  template <typename... Args>
  explicit LeakedInChild(Args&&... args) : value_{std::forward<Args>(args)...} {}

  ~LeakedInChild() {
    if (!value_.in_forked_child()) value_.~T();
  }

  LeakedInChild(const LeakedInChild&) = delete;
  LeakedInChild& operator=(const LeakedInChild&) = delete;

  T& operator*() noexcept { return value_; }
  const T& operator*() const noexcept { return value_; }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }

 private:
  union {
    T value_;  // NOLINT(readability-identifier-naming): a private member of the class around it
  };
};

}  // namespace simba::detail
