#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "support/location.hpp"
#include "support/processes/talking_process.hpp"

namespace simba::support {

/// The command line of a Java program of the tests that uses Curator, without its arguments.
std::vector<std::string> curator_program(const std::string& main_class);

/// A process that contends for a mutex on ZooKeeper as the JVM library does, with Curator's
/// LeaderLatch: CuratorContender.java, which tells what it says and when. The moments in its lines
/// are for `moment_of` (jvm_contender.hpp).
///
/// The constructor returns when it is connected. It throws std::runtime_error where that fails.
///
/// Threads: used by one thread at a time. The destructor kills the process.
class CuratorContender {
 public:
  /// Why it cannot be started here, for GTEST_SKIP(); empty: it can.
  static std::string missing();

  /// The node of the mutex is `path`, e.g. "/simba/m".
  CuratorContender(const Location& location, const std::string& path, std::string contender_id,
                   std::chrono::milliseconds session_timeout = std::chrono::seconds{16});

  /// The same for servers by a connect string.
  CuratorContender(const std::string& servers, const std::string& path, std::string contender_id,
                   std::chrono::milliseconds session_timeout);

  const std::string& contender_id() const noexcept { return contender_id_; }

  /// Contends until `close`; may be repeated after it.
  void start() { process_.order("start"); }
  void close() { process_.order("close"); }

  /// Who leads, as `LeaderLatch.getLeader()` tells; "-": nobody.
  std::string leader();

  /// Whether it leads itself, as `LeaderLatch.hasLeadership()` tells without asking the servers.
  bool leads();

  /// See TalkingProcess.
  std::string said(std::string_view beginning, std::chrono::milliseconds limit) {
    return process_.said(beginning, limit);
  }
  std::string said(std::string_view beginning) { return process_.said(beginning); }
  std::string transcript() { return process_.transcript(); }
  void kill() { process_.kill(); }
  void pause() { process_.pause(); }
  void resume() { process_.resume(); }
  int quit() { return process_.quit(); }

 private:
  const std::string contender_id_;
  TalkingProcess process_;
};

}  // namespace simba::support
