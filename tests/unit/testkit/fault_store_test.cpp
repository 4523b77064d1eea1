#include "simba/testkit/fault_store.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/memory/memory_store.hpp"
#include "simba/testkit/manual_clock.hpp"

namespace simba::testkit {
namespace {

using engine::LeaseAnswer;
using engine::LeaseRequest;
using engine::Notice;
using engine::Watch;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Answers in short: "a 1" for owner and token, "free", or the kind of the error.
std::string in_short(const LeaseAnswer& answer) {
  if (const Error* error = answer.error()) {
    return std::string{to_string(error->kind())};
  }
  const auto& record = *answer.record();
  return record.owner_id.empty() ? "free"
                                 : record.owner_id + " " + std::to_string(record.fencing_token);
}

class FaultStoreTest : public testing::Test {
 protected:
  static LeaseRequest request_of(const std::string& contender) {
    return {"m", contender, 100ms, 50ms};
  }

  auto note() {
    return [this](const LeaseAnswer& answer) { answers_.push_back(in_short(answer)); };
  }

  void acquire(const std::string& contender) { store_->acquire(request_of(contender), note()); }
  void guard(const std::string& contender) { store_->guard(request_of(contender), note()); }
  void release(const std::string& contender, FencingToken token) {
    store_->release(request_of(contender), token, note());
  }

  std::unique_ptr<Watch> watch(const std::string& contender) {
    return store_->watch(request_of(contender), [this](const Notice& notice) {
      notices_.push_back(notice.record ? in_short(*notice.record) : "hint");
    });
  }

  /// Who owns the mutex, past all faults.
  std::string owner() const {
    std::string owner;
    inner_->retrieve(request_of(""), [&](const LeaseAnswer& a) { owner = a.record()->owner_id; });
    return owner;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<memory::MemoryStore> inner_ = std::make_shared<memory::MemoryStore>(clock_);
  std::shared_ptr<FaultStore> store_ = std::make_shared<FaultStore>(inner_);
  std::vector<std::string> answers_;
  std::vector<std::string> notices_;
};

TEST_F(FaultStoreTest, NeedsAStoreToWrap) {
  EXPECT_THROW(FaultStore{nullptr}, InvalidArgumentError);
}

TEST_F(FaultStoreTest, WithoutFaultsItPassesEverythingOnAndCounts) {
  const auto w = watch("");
  acquire("a");
  acquire("a");
  guard("a");
  store_->retrieve(request_of(""), note());
  release("a", 2);
  EXPECT_THAT(answers_, ElementsAre("a 1", "a 2", "a 2", "a 2", "free"));
  EXPECT_THAT(notices_, ElementsAre("free", "a 1", "a 2", "free"));
  EXPECT_EQ(store_->count(Operation::acquire), 2U);
  EXPECT_EQ(store_->count(Operation::guard), 1U);
  EXPECT_EQ(store_->count(Operation::release), 1U);
  EXPECT_EQ(store_->count(Operation::retrieve), 1U);
  EXPECT_EQ(store_->count(Operation::watch), 1U);
  EXPECT_EQ(store_->notices(), 4U);
  EXPECT_EQ(store_->name_limits().mutex, inner_->name_limits().mutex);
}

TEST_F(FaultStoreTest, ARenewalFailsTwiceAndThenSucceeds) {
  acquire("a");
  store_->next(Operation::guard, Fault::fail(), 2);
  guard("a");
  guard("a");
  guard("a");
  EXPECT_THAT(answers_, ElementsAre("a 1", "unavailable", "unavailable", "a 1"));
}

TEST_F(FaultStoreTest, FaultsOfOneKindLineUpAndTouchNoOtherKind) {
  store_->next(Operation::acquire, Fault::fail({ErrorKind::timeout, "slow"}));
  store_->next(Operation::acquire, Fault::fail({ErrorKind::permission, "no"}));
  guard("a");
  acquire("a");
  acquire("a");
  acquire("a");
  EXPECT_THAT(answers_, ElementsAre("free", "timeout", "permission", "a 1"));
}

TEST_F(FaultStoreTest, ALostAnswerWasCarriedOut) {
  store_->next(Operation::acquire, Fault::lose_answer());
  store_->next(Operation::acquire, Fault::lose_answer({ErrorKind::timeout, "slow"}));
  acquire("a");
  acquire("a");
  EXPECT_THAT(answers_, ElementsAre("in doubt", "timeout"));
  EXPECT_EQ(owner(), "a");
}

TEST_F(FaultStoreTest, HeldAnswersComeLateAndInTheOrderAskedFor) {
  store_->next(Operation::acquire, Fault::hold_answer(), 3);
  acquire("a");
  acquire("a");
  acquire("a");
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(owner(), "a");
  EXPECT_EQ(store_->held_answers(), 3U);
  EXPECT_EQ(store_->release_answers(FaultStore::Order::newest_first, 1), 1U);
  EXPECT_EQ(store_->release_answers(), 2U);
  EXPECT_THAT(answers_, ElementsAre("a 3", "a 1", "a 2"));
  EXPECT_EQ(store_->held_answers(), 0U);
}

TEST_F(FaultStoreTest, AHeldRequestReachesTheStoreLate) {
  store_->next(Operation::release, Fault::hold_request());
  acquire("a");
  release("a", 1);
  acquire("a");
  EXPECT_EQ(store_->held_requests(), 1U);
  EXPECT_EQ(store_->release_requests(), 1U);
  EXPECT_THAT(answers_, ElementsAre("a 1", "a 2", "a 2")) << "the late release ends nothing newer";
}

TEST_F(FaultStoreTest, ASwallowedRequestIsNotCarriedOutAndAnsweredAtMend) {
  store_->next(Operation::acquire, Fault::swallow());
  acquire("a");
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(owner(), "");
  store_->mend();
  EXPECT_THAT(answers_, ElementsAre("in doubt"));
}

TEST_F(FaultStoreTest, WhileCutNothingGetsThrough) {
  auto observer = watch("");
  acquire("a");
  store_->cut();
  guard("a");
  inner_->release(request_of("a"), 1, [](const LeaseAnswer&) {});
  auto late = watch("b");
  EXPECT_THAT(answers_, ElementsAre("a 1", "unavailable"));
  EXPECT_THAT(notices_, ElementsAre("free", "a 1"));
  EXPECT_EQ(owner(), "") << "the waiter has not reached the store";
  store_->mend();
  EXPECT_EQ(owner(), "b");
  EXPECT_THAT(notices_, ElementsAre("free", "a 1", "b 2", "b 2"));
}

TEST_F(FaultStoreTest, ABlackHoleAnswersNothingUntilItIsMended) {
  store_->black_hole();
  acquire("a");
  release("a", 1);
  EXPECT_THAT(answers_, IsEmpty());
  store_->mend();
  EXPECT_THAT(answers_, ElementsAre("in doubt", "in doubt"));
  acquire("a");
  EXPECT_THAT(answers_, ElementsAre("in doubt", "in doubt", "a 1"));
}

TEST_F(FaultStoreTest, AfterAFreezeEverythingHappensLate) {
  const auto observer = watch("");
  store_->freeze();
  acquire("a");
  inner_->acquire(request_of("b"), [](const LeaseAnswer&) {});
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(notices_, ElementsAre("free"));
  store_->mend();
  EXPECT_THAT(answers_, ElementsAre("b 1"));
  EXPECT_THAT(notices_, ElementsAre("free", "b 1"));
}

TEST_F(FaultStoreTest, MendEndsFaultsThatNobodyHasMetYet) {
  store_->next(Operation::acquire, Fault::fail(), 9);
  store_->mend();
  acquire("a");
  EXPECT_THAT(answers_, ElementsAre("a 1"));
}

TEST_F(FaultStoreTest, AFaultForEveryRequestComesAfterThoseOfAKind) {
  store_->every(Fault::lose_answer());
  store_->next(Operation::acquire, Fault::fail());
  acquire("a");
  EXPECT_EQ(owner(), "");
  acquire("a");
  EXPECT_EQ(owner(), "a");
  EXPECT_THAT(answers_, ElementsAre("unavailable", "in doubt"));
}

TEST_F(FaultStoreTest, DroppedNoticesAreLostForEver) {
  acquire("a");
  const auto waiter = watch("b");
  store_->drop_notices();
  release("a", 1);
  EXPECT_EQ(owner(), "b") << "granted, and nobody told it";
  store_->pass_notices();
  EXPECT_THAT(notices_, ElementsAre("a 1"));
  EXPECT_EQ(store_->notices(), 2U);
}

TEST_F(FaultStoreTest, HeldNoticesComeLateUnlessTheirWatchHasEnded) {
  acquire("a");
  const auto waiter = watch("b");
  auto observer = watch("");
  notices_.clear();
  store_->hold_notices();
  release("a", 1);
  observer.reset();
  EXPECT_THAT(notices_, IsEmpty());
  store_->pass_notices();
  EXPECT_THAT(notices_, ElementsAre("b 2"));
}

TEST_F(FaultStoreTest, ATestMaySendNoticesOfItsOwn) {
  const auto observer = watch("");
  store_->drop_notices();
  store_->notify("m", {Notice::Kind::revoked, std::nullopt});
  store_->notify("other", {Notice::Kind::revoked, std::nullopt});
  EXPECT_THAT(notices_, ElementsAre("free", "hint"));
}

TEST_F(FaultStoreTest, AWatchThatEndsBeforeItReachedTheStoreIsNeverMade) {
  store_->cut();
  auto waiter = watch("a");
  waiter.reset();
  store_->mend();
  EXPECT_EQ(owner(), "");
}

TEST_F(FaultStoreTest, DestructionAnswersAllThatIsOpen) {
  store_->next(Operation::acquire, Fault::hold_answer());
  store_->next(Operation::acquire, Fault::hold_request());
  store_->next(Operation::acquire, Fault::swallow());
  acquire("a");
  acquire("a");
  acquire("a");
  auto observer = watch("");
  store_.reset();
  EXPECT_THAT(answers_, ElementsAre("in doubt", "in doubt", "in doubt"));
  observer.reset();
}

TEST_F(FaultStoreTest, AfterCloseEveryRequestIsRefused) {
  const auto observer = watch("");
  store_->freeze();
  acquire("a");
  store_->close();
  EXPECT_THAT(answers_, ElementsAre("in doubt"));
  acquire("a");
  const auto late = watch("b");
  store_->mend();
  inner_->acquire(request_of("c"), [](const LeaseAnswer&) {});
  EXPECT_THAT(answers_, ElementsAre("in doubt", "unavailable"));
  EXPECT_THAT(notices_, ElementsAre("free"));
  EXPECT_EQ(owner(), "c");
}

TEST_F(FaultStoreTest, AHandlerMayUseTheStoreAgain) {
  store_->next(Operation::acquire, Fault::hold_answer());
  store_->acquire(request_of("a"), [this](const LeaseAnswer& late) {
    answers_.push_back(in_short(late));
    release("a", late.record()->fencing_token);
  });
  store_->release_answers();
  EXPECT_THAT(answers_, ElementsAre("a 1", "free"));
}

TEST_F(FaultStoreTest, ManyThreadsGetExactlyOneAnswerToEachRequest) {
  std::atomic<int> answers{0};
  const auto count = [&](const LeaseAnswer&) { ++answers; };
  {
    std::vector<std::jthread> threads;
    threads.reserve(3);
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, request = request_of("c" + std::to_string(t))] {
        for (int i = 0; i < 300; ++i) {
          const auto w = store_->watch(request, [](const Notice&) {});
          store_->acquire(request, count);
          store_->release(request, 0, count);
        }
      });
    }
    for (int i = 0; i < 50; ++i) {
      store_->freeze();
      store_->mend();
      store_->black_hole();
      store_->mend();
      store_->every(Fault::hold_answer());
      store_->release_answers(FaultStore::Order::newest_first);
    }
  }
  store_->close();
  EXPECT_EQ(answers, 1800);
}

TEST_F(FaultStoreTest, RecordsMeetFaultsOfTheirOwn) {
  std::vector<std::string> results;
  const auto note = [&](const RecordResult& result) {
    const auto* error = std::get_if<Error>(&result);
    results.push_back(error != nullptr ? std::string{to_string(error->kind())}
                                       : std::get<RecordAnswer>(result).record.text);
  };
  store_->next(Operation::write_record, Fault::lose_answer());
  store_->next(Operation::read_record, Fault::hold_answer());
  acquire("a");
  store_->records()->write({.mutex = "m", .text = "x"}, note);
  store_->records()->read("m", note);
  EXPECT_THAT(answers_, ElementsAre("a 1"));
  EXPECT_THAT(results, ElementsAre("in doubt"));
  EXPECT_EQ(store_->release_answers(), 1U);
  EXPECT_THAT(results, ElementsAre("in doubt", "x"));
  EXPECT_EQ(store_->count(Operation::read_record), 1U);
}

}  // namespace
}  // namespace simba::testkit
