#pragma once

namespace simba::detail {

/// A flag that a thread waiting in poll() sees: a descriptor that is readable while it is raised.
///
/// Threads: every function may be called from any thread.
class Wakeup {
 public:
  /// Throws std::system_error where the system gives no descriptor.
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void raise() const noexcept;
  void clear() const noexcept;
  int descriptor() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace simba::detail
