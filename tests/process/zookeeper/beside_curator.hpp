#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simba/testkit/recording_contender.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"
#include "support/jvm/curator_contender.hpp"
#include "support/jvm/jvm_contender.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/patience.hpp"
#include "support/zookeeper/zookeeper_client_options.hpp"
#include "support/zookeeper/zookeeper_console.hpp"

/// What the tests of ours beside Curator's share.
namespace simba::zookeeper::test {

using namespace std::chrono_literals;
using support::CuratorContender;
using support::eventually;
using support::now;
using support::OwnershipLedger;
using support::scaled;
using support::ZooKeeperConsole;

/// Far less than a session where it is not said otherwise: what happens within it is no take-over.
constexpr auto curator_promptly = 5s;

constexpr std::chrono::milliseconds curator_session{1'000};

/// The longest from the death of an owner with a short session to the next: until the servers look
/// for sessions that are over, and a second.
constexpr auto take_over = curator_session + support::zookeeper_tick + 1'000ms;

inline ContentionOptions short_contention() {
  ContentionOptions contention;
  contention.ttl = scaled(curator_session * 6 / 10);
  contention.transition = scaled(curator_session * 4 / 10);
  return contention;
}

/// One of ours, with a session of its own.
class Ours {
 public:
  Ours(const support::Location& location, const std::string& mutex, const std::string& id,
       OwnershipLedger& ledger, const ContentionOptions& contention = {})
      : contender_{mutex, id, hooks(ledger)},
        factory_{make_zookeeper_factory(support::zookeeper_options(location, contention))},
        service_{factory_->create_mutex_contend_service(contender_)} {}

  void start() { service_->start(); }
  void stop() { service_->stop(); }
  bool leads() const { return service_->is_owner(); }
  std::string leader() const { return service_->after_owner().owner_id(); }
  const std::string& id() const { return contender_.contender_id(); }
  FencingToken token() const { return service_->fencing_token(); }
  MutexServiceFactory& factory() { return *factory_; }

  /// Since it was made.
  bool acquires(std::size_t times = 1, std::chrono::milliseconds limit = curator_promptly) const {
    return support::within(limit, [&] { return acquisitions_ >= times; });
  }

  /// When it began to lead the last time, and when it ended.
  LocalTime acquired_at() const { return acquired_at_.load(); }
  LocalTime released_at() const { return released_at_.load(); }

 private:
  testkit::RecordingHooks hooks(OwnershipLedger& ledger) {
    return {.on_acquired =
                [this, &ledger](const MutexState& state) {
                  acquired_at_ = now();
                  entry_ = ledger.begin(contender_.contender_id(), state.after().fencing_token(),
                                        acquired_at_);
                  ++acquisitions_;
                },
            .on_released =
                [this, &ledger](const MutexState& state) {
                  // Its ownership ends by the clock, though the callback may come late.
                  released_at_ = std::min(now(), state.before().local_lease().transition_at);
                  ledger.extend(entry_, released_at_);
                },
            .on_event = {}};
  }

  std::atomic<std::size_t> acquisitions_{0};
  std::atomic<LocalTime> acquired_at_{LocalTime{}};
  std::atomic<LocalTime> released_at_{LocalTime{}};
  std::size_t entry_ = 0;  // used inside callbacks only
  testkit::RecordingContender contender_;
  const std::unique_ptr<MutexServiceFactory> factory_;
  const std::unique_ptr<MutexContendService> service_;
};

/// One of ours in a process of its own, which it holds on to. Made before this process has threads.
class OurProcess {
 public:
  OurProcess(const support::Location& location, const std::string& mutex, const std::string& id) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
      throw std::system_error{errno, std::generic_category(), "pipe"};
    }
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(location, mutex, id, ends[1]);
    }
    ::close(ends[1]);
    channel_ = ends[0];
  }
  OurProcess(const OurProcess&) = delete;
  OurProcess& operator=(const OurProcess&) = delete;
  ~OurProcess() {
    kill();
    ::close(channel_);
  }

  bool acquires() const {
    pollfd wait{channel_, POLLIN, 0};
    char word = 0;
    return ::poll(&wait, 1, static_cast<int>(scaled(30s).count())) == 1 &&
           ::read(channel_, &word, 1) == 1;
  }

  void kill() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
      process_ = -1;
    }
  }

 private:
  [[noreturn]] static void run(const support::Location& location, const std::string& mutex,
                               const std::string& id, int to) {
    testkit::RecordingContender contender{
        mutex,
        id,
        {.on_acquired = [&](const MutexState&) { static_cast<void>(!::write(to, "!", 1)); },
         .on_released = {},
         .on_event = {}}};
    const auto factory =
        make_zookeeper_factory(support::zookeeper_options(location, short_contention()));
    const auto service = factory->create_mutex_contend_service(contender);
    service->start();
    for (;;) {
      ::pause();
    }
  }

  pid_t process_ = -1;
  int channel_ = -1;
};

/// Ours and the JVM's contend for one mutex.
class ZooKeeperBesideCurator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = CuratorContender::missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  void TearDown() override { EXPECT_EQ(ledger.contradictions(), ""); }

  static std::string unique() {
    static std::atomic<int> count{0};
    return fmt::format("curator-{}-{}", ::getpid(), ++count);
  }

  /// Made when it is needed first, since it has threads.
  ZooKeeperConsole& console() {
    if (!console_) {
      console_.emplace(location);
    }
    return *console_;
  }

  /// Waits until these are in line, the owner first.
  bool are_in_line(const std::vector<std::string>& ids) {
    return eventually([&] { return console().line(path) == ids; });
  }

  /// One of theirs leads; from now on until `end` it is in the ledger.
  void begin(CuratorContender& curator, std::chrono::milliseconds limit = curator_promptly) {
    const auto line = curator.said("acquired", limit);
    ASSERT_NE(line, "") << curator.contender_id() << " does not lead:\n" << curator.transcript();
    const auto names = console().children(path);
    ASSERT_FALSE(names.empty());
    const auto node = console().node(path + '/' + names.front());
    ASSERT_TRUE(node);
    EXPECT_EQ(node->data, curator.contender_id());
    acquired_at = support::moment_of(line);
    entry_ = ledger.begin(curator.contender_id(), static_cast<FencingToken>(node->created_zxid),
                          acquired_at);
  }

  /// It closes its latch, and led until just before.
  void end(CuratorContender& curator) {
    curator.close();
    const auto line = curator.said("closing");
    ASSERT_NE(line, "") << curator.transcript();
    closed_at = support::moment_of(line);
    ledger.extend(entry_, closed_at);
    ASSERT_NE(curator.said("closed"), "") << curator.transcript();
  }

  const support::Location location = support::zookeeper_location();
  const std::string mutex = unique();
  const std::string path = "/simba/" + mutex;
  OwnershipLedger ledger;
  LocalTime acquired_at{};  ///< the last of theirs
  LocalTime closed_at{};

 private:
  std::optional<ZooKeeperConsole> console_;
  std::size_t entry_ = 0;
};

}  // namespace simba::zookeeper::test
