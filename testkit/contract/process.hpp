#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "testkit/contract/support.hpp"

namespace simba::testkit::detail {

/// Another process of this same program that contends for a mutex. It dies with the thread that
/// started it, at the latest.
///
/// Threads: used by one thread.
class Child {
 public:
  /// Acquires once and holds on; answers questions meanwhile.
  static Child holder(const Contract& contract, const std::string& mutex,
                      const ContentionOptions& lease);

  /// Acquires `rounds` times. Each time it adds one to the number in the file `folder`/count, which
  /// it reads and writes without any other protection, and adds its visit to `folder`/visits.
  static Child worker(const Contract& contract, const std::string& mutex,
                      const ContentionOptions& lease, int rounds, const std::string& folder);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// The next line that it writes; empty when none comes in time.
  std::string line();
  void say(const std::string& line) const;

  void send(int signal) const;

  /// Waits until it has ended: its exit status, or minus the signal that ended it. Nothing when it
  /// still runs after `span`.
  std::optional<int> wait(std::chrono::nanoseconds span);

 private:
  Child(const Contract& contract, std::vector<std::string> arguments);

  const Contract& contract_;
  pid_t pid_ = -1;  // -1: it has ended
  int to_child_ = -1;
  int from_child_ = -1;
  std::string unread_;
};

}  // namespace simba::testkit::detail
