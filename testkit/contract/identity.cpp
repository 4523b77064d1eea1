// Two contenders that use the same contender id at the same time.
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

/// One of two with the same id.
struct Twin {
  Twin(const std::string& mutex, MutexContendServiceFactory& factory)
      : contender{mutex, "twin"}, service{factory.create_mutex_contend_service(contender)} {}
  ~Twin() { service->close(); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  bool has_acquired(const Contract& contract) const {
    return contract.eventually([this] { return contender.acquisitions() > 0; });
  }

  /// Whether it has noticed the other: it has lost the mutex to it, or does not wait for it any
  /// more.
  bool has_noticed() const {
    const auto events = contender.events();
    return std::any_of(events.begin(), events.end(), [](const ContentionEvent& event) {
      const auto* lost = std::get_if<OwnershipLost>(&event);
      const auto* failed = std::get_if<AcquireFailed>(&event);
      return (lost != nullptr && lost->reason == LossReason::duplicate_id) ||
             (failed != nullptr && failed->error.kind() == ErrorKind::duplicate_id);
    });
  }

  RecordingContender contender;
  const std::unique_ptr<MutexContendService> service;
};

/// How long both may own: until the next renewal of the first is answered.
std::chrono::nanoseconds longest_both(const Contract& contract, const ContentionOptions& lease) {
  const ContentionPlan plan{lease};
  return plan.renew_after + plan.request_timeout + contract.stall();
}

void two_owners_with_one_id_do_not_outlast_a_renewal(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.clear_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  Twin first{mutex, *one};
  Twin second{mutex, *another};
  first.service->start();
  ASSERT_TRUE(first.has_acquired(contract));
  second.service->start();
  std::optional<LocalTime> both_since;
  std::chrono::nanoseconds both{0};
  ASSERT_TRUE(contract.eventually([&] {
    if (first.service->is_owner() && second.service->is_owner()) {
      if (!both_since) both_since = contract.now();
      both = std::max(both, contract.now() - *both_since);
    } else {
      both_since.reset();
    }
    return first.has_noticed() || second.has_noticed();
  }));
  EXPECT_LE(both, longest_both(contract, lease));
  EXPECT_TRUE(
      contract.eventually([&] { return first.service->is_owner() != second.service->is_owner(); }));
}

void the_one_that_has_noticed_stays_out(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  Twin first{mutex, *one};
  Twin second{mutex, *another};
  first.service->start();
  ASSERT_TRUE(first.has_acquired(contract));
  second.service->start();
  ASSERT_TRUE(contract.eventually([&] { return first.has_noticed() || second.has_noticed(); }));
  Twin& out = first.has_noticed() ? first : second;
  Twin& owner = first.has_noticed() ? second : first;
  ASSERT_TRUE(contract.eventually([&] { return owner.service->is_owner(); }));
  const auto acquisitions = out.contender.acquisitions();
  EXPECT_FALSE(contract.within(3 * length(lease), [&] {
    return out.contender.acquisitions() != acquisitions || owner.has_noticed();
  }));
  EXPECT_TRUE(owner.service->is_owner());

  // What it has left in a queue, say, would keep the mutex from others.
  owner.service->stop();
  const auto third = contract.factory(lease);
  Member next{contract, mutex, *third};
  next.start();
  EXPECT_TRUE(next.has_acquired());
  EXPECT_EQ(out.contender.acquisitions(), acquisitions);
}

void a_locker_whose_id_another_uses_throws(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  SimbaLocker first{mutex, *one, "twin"};
  SimbaLocker second{mutex, *another, "twin"};
  const auto kind_of_acquire = [](SimbaLocker& locker) -> std::optional<ErrorKind> {
    try {
      locker.acquire();
      return std::nullopt;
    } catch (const Error& error) {
      return error.kind();
    }
  };
  first.acquire();
  const auto told = kind_of_acquire(second);
  if (told) {  // a store that knows that the first one is alive
    EXPECT_EQ(*told, ErrorKind::duplicate_id);
    EXPECT_TRUE(first.is_held());
    EXPECT_EQ(kind_of_acquire(second), ErrorKind::duplicate_id);
    return;
  }
  EXPECT_TRUE(contract.eventually([&] { return first.lost().stop_requested(); }));
  EXPECT_TRUE(contract.eventually([&] { return !first.is_held(); }));
  first.close();
  EXPECT_EQ(kind_of_acquire(first), ErrorKind::duplicate_id);
  EXPECT_TRUE(second.is_held());
}

void the_next_life_of_a_crashed_owner_takes_over_under_its_id(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  Twin crashed{mutex, *one};
  crashed.service->start();
  ASSERT_TRUE(crashed.has_acquired(contract));
  one.cut();
  Twin next{mutex, *another};
  next.service->start();
  ASSERT_TRUE(next.has_acquired(contract));
  EXPECT_FALSE(contract.within(2 * length(lease), [&] { return !next.service->is_owner(); }));
  EXPECT_FALSE(next.has_noticed());
}

}  // namespace

ContractCases identity_cases() {
  return {
      {"TwoOwnersWithOneIdDoNotOutlastARenewal",
       two_owners_with_one_id_do_not_outlast_a_renewal,
       {Capability::duplicate_ids}},
      {"TheOneThatHasNoticedItsIdTwiceStaysOut",
       the_one_that_has_noticed_stays_out,
       {Capability::duplicate_ids}},
      {"ALockerWhoseIdAnotherUsesThrows",
       a_locker_whose_id_another_uses_throws,
       {Capability::duplicate_ids}},
      {"TheNextLifeOfACrashedOwnerTakesOverUnderItsId",
       the_next_life_of_a_crashed_owner_takes_over_under_its_id,
       {Capability::duplicate_ids, Capability::cut_off}},
  };
}

}  // namespace simba::testkit::detail
