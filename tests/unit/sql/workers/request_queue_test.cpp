#include "sql/workers/request_queue.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::sql {
namespace {

using namespace std::chrono_literals;
using Kind = Request::Kind;
using Outcome = RequestQueue::Outcome;
using testing::ElementsAre;
using testing::IsEmpty;

Request request(Kind kind, const std::string& mutex, const std::string& contender = "c") {
  return {.kind = kind,
          .ask = {.mutex = mutex, .contender_id = contender, .ttl = 10s, .transition = 6s},
          .handler = RowHandler{[](const auto&) {}}};
}

std::vector<std::string> mutexes(const Batch& batch) {
  std::vector<std::string> names;
  for (const Request& one : batch.requests) names.push_back(one.ask.mutex);
  return names;
}

TEST(RequestQueue, RequestsOfOneKindGoTogetherInTheOrderOfNames) {
  RequestQueue queue{2};
  for (const auto* name : {"b", "c", "a"}) queue.push(request(Kind::guard, name));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(mutexes(queue.take()), IsEmpty());
}

TEST(RequestQueue, RequestsOfOtherKindsAndLeasesGoApart) {
  RequestQueue queue{2};
  queue.push(request(Kind::guard, "a"));
  queue.push(request(Kind::acquire, "b"));
  auto other_lease = request(Kind::guard, "c");
  other_lease.ask.ttl = 11s;
  queue.push(std::move(other_lease));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("b"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("c"));
}

TEST(RequestQueue, AMutexIsInABatchOnce) {
  RequestQueue queue{2};
  queue.push(request(Kind::acquire, "a", "one"));
  queue.push(request(Kind::acquire, "a", "two"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a"));
  const Batch second = queue.take();
  ASSERT_EQ(second.requests.size(), 1U);
  EXPECT_EQ(second.requests.front().ask.contender_id, "two");
}

TEST(RequestQueue, RequestsOfOneContenderForOneMutexWaitForEachOther) {
  RequestQueue queue{2};
  queue.push(request(Kind::acquire, "a"));
  queue.push(request(Kind::release, "a"));
  const Batch first = queue.take();
  EXPECT_THAT(mutexes(queue.take()), IsEmpty());
  queue.done(first, Outcome::answered);
  EXPECT_EQ(queue.take().requests.front().kind, Kind::release);
}

TEST(RequestQueue, ARequestJoinsNoBatchThatWouldOvertakeOneForTheSameMutex) {
  RequestQueue queue{2};
  queue.push(request(Kind::guard, "x"));
  queue.push(request(Kind::release, "a"));
  queue.push(request(Kind::guard, "a"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("x"));
  EXPECT_EQ(queue.take().requests.front().kind, Kind::release);
}

TEST(RequestQueue, ABatchHasABound) {
  RequestQueue queue{2};
  for (std::size_t i = 0; i < RequestQueue::most_together + 1; ++i) {
    queue.push(request(Kind::guard, std::to_string(i)));
  }
  EXPECT_EQ(queue.take().requests.size(), RequestQueue::most_together);
  EXPECT_EQ(queue.take().requests.size(), 1U);
}

TEST(RequestQueue, ABatchOfReadsOfRecordsIsLarger) {
  RequestQueue queue{2};
  for (std::size_t i = 0; i < RequestQueue::most_reads_together + 1; ++i) {
    queue.push(request(Kind::read_record, std::to_string(i)));
  }
  EXPECT_EQ(queue.take().requests.size(), RequestQueue::most_reads_together);
}

TEST(RequestQueue, WhatFailedTogetherGoesAloneUntilItGotThrough) {
  RequestQueue queue{2};
  queue.push(request(Kind::guard, "a"));
  queue.push(request(Kind::guard, "b"));
  queue.done(queue.take(), Outcome::failed);

  for (const auto* name : {"a", "b", "c"}) queue.push(request(Kind::guard, name));
  const Batch a = queue.take();
  const Batch b = queue.take();
  const Batch c = queue.take();
  EXPECT_THAT(mutexes(a), ElementsAre("a"));
  EXPECT_THAT(mutexes(b), ElementsAre("b"));
  EXPECT_THAT(mutexes(c), ElementsAre("c"));
  for (const Batch* batch : {&a, &b, &c}) queue.done(*batch, Outcome::answered);

  for (const auto* name : {"a", "b", "c"}) queue.push(request(Kind::guard, name));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a", "b", "c"));
}

TEST(RequestQueue, WhatGotStuckAloneLeavesAConnectionToTheOthers) {
  RequestQueue queue{2};
  for (const auto* name : {"a", "b"}) {
    queue.push(request(Kind::guard, name));
    queue.done(queue.take(), Outcome::stuck);
  }

  for (const auto* name : {"a", "b", "c"}) queue.push(request(Kind::guard, name));
  const Batch a = queue.take();
  EXPECT_THAT(mutexes(a), ElementsAre("a"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("c"));
  EXPECT_THAT(mutexes(queue.take()), IsEmpty());
  queue.done(a, Outcome::stuck);
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("b"));
}

TEST(RequestQueue, WhatGotStuckInABatchIsNotHeldUpByWhatIsStuckAlone) {
  RequestQueue queue{2};
  queue.push(request(Kind::guard, "stuck"));
  queue.done(queue.take(), Outcome::stuck);
  for (const auto* name : {"a", "b"}) queue.push(request(Kind::guard, name));
  queue.done(queue.take(), Outcome::stuck);

  for (const auto* name : {"stuck", "a", "b"}) queue.push(request(Kind::guard, name));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("stuck"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("b"));
}

TEST(RequestQueue, ALookThatGotThroughDoesNotEndThatAMutexGoesAlone) {
  RequestQueue queue{2};
  queue.push(request(Kind::guard, "a"));
  queue.done(queue.take(), Outcome::stuck);
  queue.push(request(Kind::look, "a"));
  queue.done(queue.take(), Outcome::answered);
  for (const auto* name : {"a", "b"}) queue.push(request(Kind::guard, name));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a"));
}

TEST(RequestQueue, ALostConnectionBlamesNobody) {
  RequestQueue queue{2};
  for (const auto* name : {"a", "b"}) queue.push(request(Kind::guard, name));
  queue.done(queue.take(), Outcome::undecided);
  for (const auto* name : {"a", "b"}) queue.push(request(Kind::guard, name));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a", "b"));
}

TEST(RequestQueue, WithOneConnectionWhatGotStuckStillGoesOut) {
  RequestQueue queue{1};
  queue.push(request(Kind::guard, "a"));
  queue.done(queue.take(), Outcome::stuck);
  queue.push(request(Kind::guard, "a"));
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("a"));
}

TEST(RequestQueue, WhatWasNotBegunInTimeIsGivenBack) {
  RequestQueue queue{1};
  const LocalTime now{100s};
  auto late = request(Kind::guard, "late");
  late.not_after = now - 1ms;
  auto in_time = request(Kind::guard, "in time");
  in_time.not_after = now;
  queue.push(std::move(late));
  queue.push(std::move(in_time));
  const auto overdue = queue.take_overdue(now);
  ASSERT_EQ(overdue.size(), 1U);
  EXPECT_EQ(overdue.front().ask.mutex, "late");
  EXPECT_THAT(mutexes(queue.take()), ElementsAre("in time"));
}

TEST(RequestQueue, LooksAtManyGoAlone) {
  RequestQueue queue{2};
  for (int i = 0; i < 2; ++i) {
    queue.push({.kind = Kind::look_at_many, .ask = {}, .handler = RowsHandler{[](const auto&) {}}});
  }
  EXPECT_EQ(queue.take().requests.size(), 1U);
  EXPECT_EQ(queue.take().requests.size(), 1U);
}

}  // namespace
}  // namespace simba::sql
