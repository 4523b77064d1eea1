#pragma once

#include <string>

namespace simba {

/// Generates contender ids. Contenders of a mutex must have different ids; a store has no other way
/// to tell them apart.
///
/// Threads: `generate()` may be called concurrently from any thread.
class ContenderIdGenerator {
 public:
  virtual ~ContenderIdGenerator() = default;

  virtual std::string generate() = 0;

  /// The default for lockers, schedulers, contenders and the command: `host()` followed by 64
  /// random bits of this process, e.g. `0:12345@192.168.1.100-9f86d081884c7d65`. Readable,
  /// traceable to host and process, and globally unique. The kernel supplies the random bits once
  /// per process, and again in a forked child. Only a copy of a running process (a checkpoint, a
  /// virtual machine snapshot) repeats them.
  static ContenderIdGenerator& unique();

  /// `{counter}:{pid}@{address}`, e.g. `0:12345@192.168.1.100`: the format of the JVM library. The
  /// counter starts at 0 in each process, including a forked child; the address is the first one of
  /// this host that is not a loopback address (else 127.0.0.1).
  ///
  /// Not unique across containers: on two hosts, both may be process 1 at 172.17.0.2, and both
  /// would own the mutex. Use it only if process ids and addresses are those of real hosts.
  static ContenderIdGenerator& host();

  /// A random UUID (version 4) as 32 hexadecimal digits.
  static ContenderIdGenerator& uuid();
};

}  // namespace simba
