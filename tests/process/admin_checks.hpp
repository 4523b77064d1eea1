#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/engine/store_admin.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"
#include "support/server.hpp"

/// What the tests of all store admins share: what each must do, and small tools.
namespace simba::admin_test {

using namespace std::chrono_literals;
using engine::Finding;
using engine::MutexEntry;
using testing::HasSubstr;

inline const std::chrono::milliseconds patience = 20s;

/// A text that no other test of this run has.
inline std::string unique(const std::string& prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}-{}-{}", prefix, ::getpid(), ++count);
}

inline std::shared_ptr<const Runtime> quiet_runtime() {
  static const auto runtime = make_runtime({.log = make_null_logger()});
  return runtime;
}

/// A runtime whose log the test reads.
inline std::shared_ptr<const Runtime> runtime_with(std::shared_ptr<Logger> log) {
  auto runtime = std::make_shared<Runtime>(*quiet_runtime());
  runtime->log = std::move(log);
  return runtime;
}

inline ContentionOptions short_contention() {
  ContentionOptions contention;
  contention.ttl = support::scaled(1s);
  contention.transition = support::scaled(1s);
  return contention;
}

/// A contender that takes part until this object is gone.
struct Member {
  Member(MutexServiceFactory& factory, const std::string& mutex, const std::string& id)
      : contender{mutex, id}, service{factory.create_mutex_contend_service(contender)} {
    service->start();
  }
  ~Member() { service->stop(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  testkit::RecordingContender contender;
  std::unique_ptr<MutexContendService> service;
};

inline std::vector<std::string> texts(const std::vector<Finding>& findings,
                                      Finding::Weight weight) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    if (finding.weight == weight) texts.push_back(finding.text);
  }
  return texts;
}

inline std::vector<std::string> problems(const engine::StoreReport& report) {
  return texts(report.findings, Finding::Weight::problem);
}
inline std::vector<std::string> warnings(const engine::StoreReport& report) {
  return texts(report.findings, Finding::Weight::warning);
}
inline std::vector<std::string> notes(const engine::StoreReport& report) {
  return texts(report.findings, Finding::Weight::note);
}

/// The error of a call that must fail.
template <typename Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error{ErrorKind::internal, ""};
}

inline const MutexEntry* entry_of(const std::vector<MutexEntry>& entries,
                                  const std::string& mutex) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const MutexEntry& entry) { return entry.mutex == mutex; });
  return found == entries.end() ? nullptr : &*found;
}

/// The difference of a server's time to that of this machine, where the server runs.
inline std::chrono::milliseconds offset_of(const engine::StoreReport& report) {
  const auto here = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return report.server_time ? std::chrono::abs(report.server_time->time_since_epoch() - here)
                            : std::chrono::milliseconds::max();
}

/// The attack: somebody who may write to the store leaves something there in the name of `bad` that
/// cannot be read.
inline void expect_unreadable_is_left_out(engine::StoreAdmin& admin,
                                          const testkit::CapturingLogger& log,
                                          const std::string& good, const std::string& bad) {
  for (int listing = 0; listing < 2; ++listing) {
    const auto all = admin.list();
    EXPECT_NE(entry_of(all, good), nullptr);
    EXPECT_EQ(entry_of(all, bad), nullptr);
  }
  EXPECT_EQ(log.count(fmt::format("cannot read mutex \"{}\"", bad)), 1U) << log.text();
}

inline void expect_owner_is_seen(engine::StoreAdmin& admin, MutexServiceFactory& factory,
                                 bool has_leases) {
  const std::string mutex = unique("seen");
  const MutexEntry unknown = admin.find(mutex);
  EXPECT_EQ(unknown.mutex, mutex);
  EXPECT_EQ(unknown.owner_id, "");
  EXPECT_EQ(unknown.left, 0ms);
  {
    const Member owner{factory, mutex, "owner-1"};
    ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
    const MutexEntry found = admin.find(mutex);
    EXPECT_EQ(found.owner_id, "owner-1");
    EXPECT_GT(found.fencing_token, 0U);
    EXPECT_GT(found.acquired_at, StoreTime{});
    EXPECT_EQ(found.left.has_value(), has_leases);
    if (found.left) {
      EXPECT_GT(*found.left, 0ms);
    }
    const auto all = admin.list();
    const MutexEntry* const listed = entry_of(all, mutex);
    ASSERT_NE(listed, nullptr);
    EXPECT_EQ(listed->owner_id, "owner-1");
    EXPECT_GE(listed->fencing_token, found.fencing_token);
    EXPECT_EQ(listed->left.has_value(), has_leases);
  }
  EXPECT_TRUE(support::eventually([&] { return admin.find(mutex).owner_id.empty(); }));
  const auto all = admin.list();
  if (const MutexEntry* const listed = entry_of(all, mutex)) {
    EXPECT_EQ(listed->owner_id, "");
    EXPECT_EQ(listed->left, 0ms);
  }
}

/// For stores that know who waits.
inline void expect_waiting_are_listed_in_order(engine::StoreAdmin& admin,
                                               MutexServiceFactory& factory) {
  const std::string mutex = unique("line");
  const Member owner{factory, mutex, "owner-1"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  const auto waiting = [&] {
    std::vector<std::string> ids;
    const auto all = admin.list_with_waiting();
    const MutexEntry* const entry = entry_of(all, mutex);
    if (entry == nullptr || !entry->waiting) return ids;
    for (const auto& one : *entry->waiting) {
      EXPECT_GT(one.since, StoreTime{});
      ids.push_back(one.contender_id);
    }
    return ids;
  };
  EXPECT_THAT(waiting(), testing::IsEmpty());
  const Member second{factory, mutex, "waits-1"};
  EXPECT_TRUE(support::eventually([&] { return waiting().size() == 1; }));
  const Member third{factory, mutex, "waits-2"};
  EXPECT_TRUE(support::eventually([&] { return waiting().size() == 2; }));
  EXPECT_THAT(waiting(), testing::ElementsAre("waits-1", "waits-2"));
  const auto all = admin.list();
  ASSERT_NE(entry_of(all, mutex), nullptr);
  EXPECT_FALSE(entry_of(all, mutex)->waiting);
}

/// `factory` has a short lease.
inline void expect_eviction_hands_over(engine::StoreAdmin& admin, MutexServiceFactory& factory,
                                       MutexServiceFactory& other) {
  const std::string mutex = unique("evicted");
  const Member owner{factory, mutex, "owner-1"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  const Member waiter{other, mutex, "waiter-1"};
  // It waits once it knows who leads.
  ASSERT_TRUE(waiter.contender.wait_until(
      [&] {
        const auto owners = waiter.contender.owners();
        return std::find(owners.begin(), owners.end(), "owner-1") != owners.end();
      },
      patience));

  const MutexEntry before = admin.evict(mutex);

  EXPECT_EQ(before.mutex, mutex);
  EXPECT_EQ(before.owner_id, "owner-1");
  EXPECT_TRUE(waiter.contender.wait_for_acquisitions(1, patience));
  EXPECT_TRUE(owner.contender.wait_for_releases(1, patience));
  EXPECT_TRUE(support::grows(before.fencing_token, waiter.contender.tokens().front()));
  EXPECT_EQ(admin.find(mutex).owner_id, "waiter-1");
}

inline void expect_free_mutexes_stay_free(engine::StoreAdmin& admin, MutexServiceFactory& factory) {
  const std::string mutex = unique("free");
  EXPECT_EQ(admin.evict(mutex).owner_id, "") << "unknown";
  {
    const Member owner{factory, mutex, "owner-1"};
    ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  }
  EXPECT_TRUE(support::eventually([&] { return admin.find(mutex).owner_id.empty(); }));
  const MutexEntry before = admin.evict(mutex);
  EXPECT_EQ(before.owner_id, "");
  EXPECT_EQ(admin.find(mutex).fencing_token, before.fencing_token);
}

inline void expect_bad_names_are_refused(engine::StoreAdmin& admin) {
  for (const std::string& name : {std::string{}, std::string{"  "}, std::string(67, 'x')}) {
    EXPECT_THROW(admin.find(name), InvalidArgumentError);
    EXPECT_THROW(admin.evict(name), InvalidArgumentError);
  }
}

/// `store` is attached.
inline void expect_thousand_are_listed(engine::StoreAdmin& admin, engine::LeaseStore& store) {
  constexpr std::size_t count = 1'000;
  const std::string prefix = unique("many") + "-";
  std::vector<std::promise<std::string>> owners(count);
  for (std::size_t i = 0; i < count; ++i) {
    store.acquire({.mutex = fmt::format("{}{:04}", prefix, i),
                   .contender_id = fmt::format("owner-{}", i),
                   .ttl = 60s,
                   .transition = 60s},
                  [&owners, i](const engine::LeaseAnswer& answer) {
                    owners[i].set_value(answer.record() != nullptr ? answer.record()->owner_id
                                                                   : answer.error()->what());
                  });
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto owner = owners[i].get_future();
    ASSERT_EQ(owner.wait_for(60s), std::future_status::ready);
    ASSERT_EQ(owner.get(), fmt::format("owner-{}", i));
  }
  const auto all = admin.list();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.mutex < b.mutex; }));
  std::size_t found = 0;
  for (const MutexEntry& entry : all) {
    if (!entry.mutex.starts_with(prefix)) continue;
    EXPECT_EQ(entry.mutex, fmt::format("{}{:04}", prefix, found));
    EXPECT_EQ(entry.owner_id, fmt::format("owner-{}", found));
    ++found;
  }
  EXPECT_EQ(found, count);
}

/// Of a server that is down. `limit` is what the time-outs of the options allow.
inline void expect_outage_is_told(engine::StoreAdmin& admin, std::chrono::milliseconds limit,
                                  const std::string& password) {
  const std::vector<std::function<void()>> calls{[&] { admin.list(); }, [&] { admin.find("any"); },
                                                 [&] { admin.evict("any"); },
                                                 [&] { admin.examine(); }};
  for (const auto& call : calls) {
    const auto begin = support::now();
    const Error error = error_of(call);
    EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
    EXPECT_THAT(error.what(), testing::Not(HasSubstr(password)));
    EXPECT_LT(support::now() - begin, support::scaled(limit));
  }
}

/// Of a server that is there and does not answer.
inline void expect_silence_is_told(engine::StoreAdmin& admin, std::chrono::milliseconds limit,
                                   support::Server& server) {
  admin.find("any");
  server.pause();
  const std::vector<std::function<void()>> calls{[&] { admin.find("any"); },
                                                 [&] { admin.examine(); }};
  for (const auto& call : calls) {
    const auto begin = support::now();
    const Error error = error_of(call);
    EXPECT_TRUE(error.is_transient()) << error.what();
    EXPECT_LT(support::now() - begin, support::scaled(limit));
  }
  server.resume();
  EXPECT_TRUE(support::eventually([&] {
    try {
      return admin.find("any").owner_id.empty();
    } catch (const Error&) {
      return false;
    }
  }));
}

}  // namespace simba::admin_test
