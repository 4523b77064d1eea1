#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace simba::detail {

template <class Signature, std::size_t room = 64>
class SmallFunction;

/// A function that can be moved and not copied, as `std::move_only_function` of C++23. What it is
/// made of is kept inside where that, with a pointer, fits in `room` bytes; `std::function` of
/// libstdc++ keeps no more than 16 bytes inside, and nothing that has a destructor.
///
/// Threads: as any value. Not called when empty.
template <class Result, class... Arguments, std::size_t room>
class SmallFunction<Result(Arguments...), room> {
 public:
  SmallFunction() noexcept = default;
  SmallFunction(std::nullptr_t) noexcept {}  // NOLINT(*-explicit-*): as std::function

  /// Empty if `function` is an empty function object itself.
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, SmallFunction> &&
           std::is_invocable_r_v<Result, std::decay_t<Function>&, Arguments...>)
      SmallFunction(Function&& function) {  // NOLINT(*-explicit-*,*-forwarding-*): as std::function
    using Held = Holder<std::decay_t<Function>>;
    if constexpr (requires { function.operator bool(); }) {
      if (!function) return;
    }
    if constexpr (fits<Held>) {
      ::new (static_cast<void*>(space_)) Held{std::forward<Function>(function)};
    } else {
      auto boxed = [box = std::make_unique<std::decay_t<Function>>(
                        std::forward<Function>(function))](Arguments... arguments) -> Result {
        return (*box)(std::forward<Arguments>(arguments)...);
      };
      ::new (static_cast<void*>(space_)) Holder<decltype(boxed)>{std::move(boxed)};
    }
    is_empty_ = false;
  }

  SmallFunction(SmallFunction&& other) noexcept { take(other); }

  SmallFunction& operator=(SmallFunction&& other) noexcept {
    if (this == &other) return *this;
    SmallFunction old{std::move(*this)};  // destroyed last: it may hold what this is a part of
    take(other);
    return *this;
  }

  ~SmallFunction() { clear(); }

  void swap(SmallFunction& other) noexcept { std::swap(*this, other); }

  explicit operator bool() const noexcept { return !is_empty_; }

  Result operator()(Arguments... arguments) const {
    return target()->call(std::forward<Arguments>(arguments)...);
  }

 private:
  class Target {
   public:
    Target() = default;
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    virtual ~Target() = default;
    virtual Result call(Arguments... arguments) = 0;
    virtual void move_to(void* space) noexcept = 0;
  };

  template <class Function>
  class Holder final : public Target {
   public:
    explicit Holder(Function function) : function_{std::move(function)} {}

    Result call(Arguments... arguments) override {
      return function_(std::forward<Arguments>(arguments)...);
    }

    void move_to(void* space) noexcept override { ::new (space) Holder{std::move(function_)}; }

   private:
    Function function_;
  };

  template <class Held>
  static constexpr bool fits = sizeof(Held) <= room && alignof(Held) <= alignof(void*);

  Target* target() const noexcept { return std::launder(reinterpret_cast<Target*>(space_)); }

  void take(SmallFunction& other) noexcept {
    if (other.is_empty_) return;
    other.target()->move_to(space_);
    is_empty_ = false;
    other.clear();
  }

  void clear() noexcept {
    if (std::exchange(is_empty_, true)) return;
    target()->~Target();
  }

  alignas(void*) mutable std::byte space_[room];  // as in std::function, calls may change it
  bool is_empty_ = true;
};

}  // namespace simba::detail
