#include "simba/core/mutex_contender.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/abstract_mutex_contender.hpp"
#include "unit/core/doubles.hpp"

namespace simba {
namespace {

using test::owner;
using testing::HasSubstr;
using testing::MatchesRegex;

class Contender : public AbstractMutexContender {
 public:
  Contender() : AbstractMutexContender{"the mutex", "me"} {}
  MOCK_METHOD(void, on_acquired, (const MutexState&), (override));
  MOCK_METHOD(void, on_released, (const MutexState&), (override));
};

TEST(MutexContender, IsToldThatItAcquired) {
  testing::StrictMock<Contender> contender;
  EXPECT_CALL(contender, on_acquired);
  contender.notify_owner({MutexOwner::none(), owner("me")});
}

TEST(MutexContender, IsToldThatItReleased) {
  testing::StrictMock<Contender> contender;
  EXPECT_CALL(contender, on_released);
  contender.notify_owner({owner("me"), owner("you")});
}

TEST(MutexContender, IsNotToldOfRenewalsNorOfOthers) {
  testing::StrictMock<Contender> contender;
  contender.notify_owner({owner("me"), owner("me")});
  contender.notify_owner({owner("you"), owner("they")});
  contender.notify_owner(MutexState::none());
}

TEST(MutexContender, DoesNothingAboutEventsUnlessItWantsTo) {
  testing::StrictMock<Contender> contender;
  contender.on_event(OwnershipLost{LossReason::expired, 7});
}

TEST(AbstractMutexContender, HasTheNamesItWasGiven) {
  const AbstractMutexContender contender{"the mutex", "me"};
  EXPECT_EQ(contender.mutex(), "the mutex");
  EXPECT_EQ(contender.contender_id(), "me");
}

TEST(AbstractMutexContender, TakesAnIdThatNobodyElseHasWhereItIsGivenNone) {
  const AbstractMutexContender one{"the mutex"};
  const AbstractMutexContender other{"the mutex"};
  EXPECT_THAT(one.contender_id(), MatchesRegex("[0-9]+:[0-9]+@.+-[0-9a-f]{16}"));
  EXPECT_NE(one.contender_id(), other.contender_id());
}

TEST(AbstractMutexContender, RefusesBlankNames) {
  EXPECT_THROW(AbstractMutexContender(""), InvalidArgumentError);
  EXPECT_THROW(AbstractMutexContender(" \t", "me"), InvalidArgumentError);
  EXPECT_THROW(AbstractMutexContender("the mutex", " "), InvalidArgumentError);
}

TEST(AbstractMutexContender, LogsItsCallbacks) {
  const auto log = std::make_shared<test::LineLog>();
  AbstractMutexContender contender{"the mutex", "me", log};
  contender.notify_owner({MutexOwner::none(), owner("me")});
  contender.notify_owner({owner("me"), MutexOwner::none()});
  contender.notify_owner({owner("me"), owner("you")});
  const auto lines = log->lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].first, LogLevel::info);
  EXPECT_EQ(lines[0].second, "mutex [the mutex] acquired by [me], fencing token 7");
  EXPECT_EQ(lines[1].second, "mutex [the mutex] released by [me], no known owner");
  EXPECT_EQ(lines[2].second, "mutex [the mutex] released by [me], now owned by [you]");
}

TEST(AbstractMutexContender, LogsToTheDefaultLoggerWhereItIsGivenNone) {
  testing::internal::CaptureStderr();
  AbstractMutexContender contender{"the mutex", "me"};
  contender.notify_owner({MutexOwner::none(), owner("me")});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("mutex [the mutex] acquired by [me]"));
}

}  // namespace
}  // namespace simba
