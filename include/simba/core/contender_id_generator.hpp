#pragma once

#include <string>

namespace simba {

/// Makes contender ids. Contenders of one mutex must have different ids: a store knows them by
/// nothing else.
///
/// Threads: `generate()` may be called from any thread at the same time.
class ContenderIdGenerator {
 public:
  virtual ~ContenderIdGenerator() = default;

  virtual std::string generate() = 0;

  /// The default of lockers, schedulers, contenders and the command. `host()` and 64 random bits of
  /// this process, e.g. `0:12345@192.168.1.100-9f86d081884c7d65`: readable, traceable to host and
  /// process, and unique in the world. The bits come from the kernel, once in each process and anew
  /// in a forked child. Only a copy of a running process (a checkpoint, the snapshot of a virtual
  /// machine) has the same.
  static ContenderIdGenerator& unique();

  /// `{counter}:{pid}@{address}`, e.g. `0:12345@192.168.1.100`: the format of the JVM library. The
  /// counter starts at 0 in each process, also in a forked child; the address is the first one of
  /// this host that is not a loopback address (else 127.0.0.1).
  ///
  /// Not unique between containers: on two hosts both may be process 1 at 172.17.0.2, and both own
  /// the mutex. Use it only where pids and addresses are those of real hosts.
  static ContenderIdGenerator& host();

  /// A random UUID (version 4) as 32 hexadecimal digits.
  static ContenderIdGenerator& uuid();
};

}  // namespace simba
