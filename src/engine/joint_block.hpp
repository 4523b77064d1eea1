#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>

namespace simba::engine {

/// One piece of memory for objects that are made together, though each is shared and ends on its
/// own. It goes back when the last of them is gone, and this. What does not fit gets memory of its
/// own.
///
/// Threads: one thread makes the objects; they may end in any.
class JointBlock {
 public:
  explicit JointBlock(std::size_t room)
      : memory_{::new (::operator new(sizeof(Memory) + room)) Memory(is_joint ? room : 0)} {}
  ~JointBlock() { memory_->let_go(); }
  JointBlock(const JointBlock&) = delete;
  JointBlock& operator=(const JointBlock&) = delete;

  template <class T, class... Arguments>
  std::shared_ptr<T> make(Arguments&&... arguments) {
    return std::allocate_shared<T>(Allocator<T>{*memory_}, std::forward<Arguments>(arguments)...);
  }

  /// How much room a shared `T` takes at most.
  template <class T>
  static constexpr std::size_t room_of = sizeof(T) + 3 * alignof(std::max_align_t);

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool is_joint = false;  // else it would not notice who uses what has ended
#else
  static constexpr bool is_joint = true;
#endif

  /// What the block begins with; its room follows.
  struct alignas(std::max_align_t) Memory {
    explicit Memory(std::size_t size) noexcept : room{size} {}

    const std::size_t room;
    std::size_t used = 0;
    std::atomic<std::size_t> users{1};

    std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

    void* allocate(std::size_t size) {
      size = (size + alignof(Memory) - 1) / alignof(Memory) * alignof(Memory);
      if (size > room - used) return ::operator new(size);
      users.fetch_add(1, std::memory_order_relaxed);
      return begin() + std::exchange(used, used + size);
    }

    void deallocate(void* place) noexcept {
      const auto* const byte = static_cast<std::byte*>(place);
      if (std::less<>{}(byte, begin()) || !std::less<>{}(byte, begin() + room)) {
        ::operator delete(place);
      } else {
        let_go();
      }
    }

    void let_go() noexcept {
      if (users.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
      this->~Memory();
      ::operator delete(this);
    }
  };

  template <class T>
  struct Allocator {
    using value_type = T;

    explicit Allocator(Memory& of) noexcept : memory{&of} {}
    template <class Other>
    Allocator(const Allocator<Other>& other) noexcept  // NOLINT(*-explicit-*): as allocators do
        : memory{other.memory} {}

    T* allocate(std::size_t count) {
      static_assert(alignof(T) <= alignof(Memory));
      return static_cast<T*>(memory->allocate(count * sizeof(T)));
    }
    void deallocate(T* place, std::size_t /*count*/) noexcept { memory->deallocate(place); }

    template <class Other>
    bool operator==(const Allocator<Other>& other) const noexcept {
      return memory == other.memory;
    }

    Memory* memory;
  };

  Memory* const memory_;
};

}  // namespace simba::engine
