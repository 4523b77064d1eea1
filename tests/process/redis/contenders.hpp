#pragma once

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/redis/console.hpp"
#include "process/redis/contender_process.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/ownership/lock_holder.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {

inline const std::chrono::milliseconds short_ttl = support::scaled(600ms);
inline const std::chrono::milliseconds short_transition = support::scaled(400ms);
inline const std::chrono::milliseconds short_lease = short_ttl + short_transition;

inline ContentionOptions short_contention() {
  ContentionOptions contention;
  contention.ttl = short_ttl;
  contention.transition = short_transition;
  return contention;
}

/// The arguments of a server that keeps its data when it is killed.
inline std::vector<std::string> keeping_data() {
  return {"--appendonly", "yes", "--appendfsync", "always"};
}

/// Contenders with a factory each that hand one mutex round, here and in another process. Each
/// second one keeps it for longer than the lease, and so has to renew.
class Contenders {
 public:
  struct Member {
    std::string name;
    std::unique_ptr<support::FaultProxy> proxy;  ///< empty: it needs none
    std::unique_ptr<MutexServiceFactory> factory;
    std::unique_ptr<support::LockHolder> holder;
  };

  explicit Contenders(std::string mutex = "order") : mutex_{std::move(mutex)} {}

  /// Two contenders in a process of their own. Call it first.
  void add_process(const std::string& name, const RedisOptions& options) {
    processes_.push_back(std::make_unique<ContenderProcess>(
        options,
        ContenderProcess::Settings{
            .name = name, .mutex = mutex_, .contenders = 2, .hold = 20ms, .long_hold = long_hold},
        hurry_, ledger_));
    names_.push_back(name + " 0");
    names_.push_back(name + " 1");
  }

  Member& add(RedisOptions options) {
    auto& member = *members_.emplace_back(std::make_unique<Member>());
    member.name = fmt::format("contender {}", members_.size() - 1);
    options.runtime = make_runtime({.log = log_});
    member.factory = make_redis_factory(options);
    hold(member);
    return member;
  }

  /// One that reaches the server, which must be a single one, by a proxy of its own.
  Member& add_with_proxy(RedisOptions options) {
    auto proxy = std::make_unique<support::FaultProxy>(options.endpoints.at(0).host,
                                                       options.endpoints.at(0).port);
    options.endpoints.at(0).port = proxy->port();
    auto& member = add(options);
    member.proxy = std::move(proxy);
    return member;
  }

  /// Sends a signal to the processes.
  void signal(int number) {
    for (const auto& process : processes_) {
      process->signal(number);
    }
  }

  /// For faults in which servers lose what they have answered: two owners, but not for long.
  void tolerate_two_owners_for(std::chrono::nanoseconds span) { tolerated_ = span; }

  /// Ends them all, and looks whether what they saw can be.
  void end() {
    members_.clear();
    processes_.clear();
    EXPECT_EQ(ledger_.contradictions(tolerated_), "");
    std::cout << fmt::format("{} ownerships, slowest recovery {} ms\n", ledger_.size(),
                             std::chrono::ceil<std::chrono::milliseconds>(slowest_).count());
  }

  /// When a fault is over, or concerns others only, someone new owns the mutex soon.
  void expect_recovery(const std::string& after,
                       std::chrono::milliseconds limit = short_lease + 1s) {
    hurry_.turn(true);
    const auto begin = support::now();
    EXPECT_TRUE(support::within(limit, [&] { return ledger_.begun_since(begin) > 0; }))
        << "no new owner after: " << after;
    slowest_ = std::max(slowest_, support::now() - begin);
    hurry_.turn(false);
  }

  /// Everyone is part of it again.
  void expect_all_take_part() {
    hurry_.turn(true);
    const auto begin = support::now();
    for (const auto& name : names_) {
      EXPECT_TRUE(support::eventually([&] { return ledger_.begun_since(begin, name) > 0; }))
          << name << " does not get the mutex any more";
    }
    hurry_.turn(false);
  }

  /// One of this process that owns the mutex now and will for a while.
  Member& long_owner() {
    Member* owner = nullptr;
    EXPECT_TRUE(support::eventually([&] {
      const auto newest = ledger_.newest_owner();
      for (std::size_t i = 1; i < members_.size(); i += 2) {
        if (members_[i]->name == newest) owner = members_[i].get();
      }
      return owner != nullptr;
    })) << "none of those who keep the mutex gets it";
    return owner != nullptr ? *owner : *members_.at(1);
  }

  std::vector<std::unique_ptr<Member>>& members() { return members_; }
  support::OwnershipLedger& ledger() { return ledger_; }
  const std::string& mutex() const { return mutex_; }

  /// What those of this process have logged.
  testkit::CapturingLogger& log() { return *log_; }

 private:
  static inline const std::chrono::milliseconds long_hold = 2 * short_lease;

  void hold(Member& member) {
    const bool keeps = members_.size() % 2 == 0;
    names_.push_back(member.name);
    member.holder =
        std::make_unique<support::LockHolder>(member.name, mutex_, *member.factory, ledger_,
                                              [this, keeps]() -> std::chrono::milliseconds {
                                                return keeps && !hurry_.is_on() ? long_hold : 20ms;
                                              });
  }

  const std::string mutex_;
  SharedSwitch hurry_;
  support::OwnershipLedger ledger_;
  std::shared_ptr<testkit::CapturingLogger> log_ = std::make_shared<testkit::CapturingLogger>();
  std::vector<std::string> names_;
  std::chrono::nanoseconds tolerated_{0};
  std::chrono::nanoseconds slowest_{0};
  std::vector<std::unique_ptr<ContenderProcess>> processes_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace simba::redis::test
