#pragma once

#include <string>

namespace simba {

/// Makes contender ids that no other contender has.
///
/// Threads: `generate()` may be called from any thread at the same time.
class ContenderIdGenerator {
 public:
  virtual ~ContenderIdGenerator() = default;

  virtual std::string generate() = 0;

  /// `{counter}:{pid}@{address}`, e.g. `0:12345@192.168.1.100`: readable, and traceable to host and
  /// process. The counter starts at 0 in each process, also in a forked child; the address is the
  /// first one of this host that is not a loopback address (else 127.0.0.1).
  static ContenderIdGenerator& host();

  /// A random UUID (version 4) as 32 hexadecimal digits.
  static ContenderIdGenerator& uuid();
};

}  // namespace simba
