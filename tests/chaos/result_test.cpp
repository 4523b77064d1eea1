#include "chaos/result.hpp"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/report.hpp"
#include "chaos/rounds.hpp"

namespace simba::chaos {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StoreResult clean() {
  return {.store = "redis",
          .seed = 7,
          .seconds = 20,
          .ownerships = 30,
          .faults = 4,
          .updates = 20,
          .slots = 10,
          .longest = 900,
          .bound = 1'000,
          .bound_text = "lease",
          .kinds = {{.name = "server killed",
                     .count = 2,
                     .median = 5,
                     .longest = 9,
                     .bound = 10,
                     .during = 11,
                     .during_bound = 12}}};
}

TEST(ChaosResult, IsTheSameAfterWritingAndReading) {
  auto result = clean();
  result.problems = {"two\nlines"};
  result.details = {"one", "two"};
  result.notes = "a note";
  const auto again = parse_result(to_text(result));
  EXPECT_EQ(again.seed, 7U);
  EXPECT_EQ(again.longest, 900);
  EXPECT_EQ(again.problems, std::vector<std::string>{"two lines"});
  EXPECT_EQ(again.kinds.at(0).name, "server killed");
  EXPECT_EQ(again.kinds.at(0).during, 11);
  EXPECT_EQ(again.kinds.at(0).during_bound, 12);
  EXPECT_EQ(to_text(again), to_text(parse_result(to_text(again))));
}

TEST(ChaosResult, IsRefusedWhereItIsNone) {
  EXPECT_THROW(parse_result(""), std::runtime_error);
  EXPECT_THROW(parse_result("store redis\nnonsense 1\n"), std::runtime_error);
}

TEST(ChaosResult, IsBrokenByEachPromiseThatIs) {
  EXPECT_FALSE(clean().broken());
  for (const auto member : {&StoreResult::overlaps, &StoreResult::tokens, &StoreResult::callbacks,
                            &StoreResult::lost, &StoreResult::slots_wrong}) {
    auto result = clean();
    result.*member = 1;
    EXPECT_TRUE(result.broken());
    EXPECT_TRUE(result.unsafe());
  }
  auto result = clean();
  result.longest = 1'001;
  EXPECT_TRUE(result.broken());
  EXPECT_FALSE(result.unsafe()) << "it may have been the machine";
  result = clean();
  result.problems = {"something"};
  EXPECT_TRUE(result.broken());
}

TEST(ChaosResult, IsBrokenByAFaultDuringWhichNobodyOwnsForTooLong) {
  auto result = clean();
  result.kinds.at(0).during = 13;
  EXPECT_TRUE(result.broken());
  result.kinds.at(0).during_bound = 0;
  EXPECT_FALSE(result.broken()) << "where there is no bound";
}

TEST(ChaosResult, IsBrokenWhereNothingWasPutToTheTest) {
  for (const auto member : {&StoreResult::ownerships, &StoreResult::updates, &StoreResult::slots,
                            &StoreResult::faults}) {
    auto result = clean();
    result.*member = 0;
    EXPECT_TRUE(result.broken());
    result.interrupted = 1;
    EXPECT_FALSE(result.broken());
    result.interrupted = 0;
    result.skipped = "no server";
    EXPECT_FALSE(result.broken());
  }
}

TEST(ChaosResult, IsBrokenByTheExitCodeOfItsProcessAlthoughItCanBeRead) {
  EXPECT_FALSE(result_of(to_text(clean()), 0, {}).broken());
  const auto result = result_of(to_text(clean()), 66, {});
  EXPECT_TRUE(result.broken());
  EXPECT_EQ(result.ownerships, 30);
  EXPECT_THAT(as_table({result}), HasSubstr("ended with 66"));
}

TEST(ChaosResult, IsBrokenWhereItsProcessHasWrittenNone) {
  const auto result = result_of("", 0, {.store = "redis"});
  EXPECT_TRUE(result.broken());
  EXPECT_EQ(result.store, "redis");
}

TEST(ChaosResult, IsNotBrokenByTwoOwnersThatAreExcused) {
  auto result = clean();
  result.overlaps = 1;
  result.excused = 1;
  result.two_owners_possible = 1;
  EXPECT_FALSE(result.broken());
  EXPECT_THAT(as_table({result}), HasSubstr("1 (1 at a failover, allowed)"));
  EXPECT_EQ(parse_result(to_text(result)).excused, 1);
  result.overlaps = 2;
  EXPECT_TRUE(result.broken()) << "the other is not";
  EXPECT_TRUE(result.unsafe());
  result.overlaps = 1;
  result.lost = 1;
  EXPECT_TRUE(result.broken());
}

TEST(ChaosReport, TellsWhatContendersOfTheJvmLibraryDid) {
  auto result = clean();
  EXPECT_THAT(as_table({result}), Not(HasSubstr("JVM")));
  result.jvm = 2;
  result.jvm_ownerships = 31;
  result.beliefs = 3;
  result.longest_belief = 1'900;
  result = parse_result(to_text(result));
  EXPECT_FALSE(result.broken());
  EXPECT_THAT(as_table({result}), HasSubstr("Beside 2 contenders of the JVM library"));
  EXPECT_THAT(as_table({result}), HasSubstr("granted them the mutex 31 times"));
  EXPECT_THAT(as_table({result}),
              HasSubstr("the owner 3 times after another had been let in, for at most 1.90 s"));
}

TEST(ChaosReport, TellsWhatBecameOfSlots) {
  auto result = clean();
  result.slot_attempts = 14;
  result.slots_lost = 3;
  result.slots_missed = 2;
  result.slots_excused = 1;
  result = parse_result(to_text(result));
  EXPECT_FALSE(result.broken());
  const auto text = as_table({result});
  EXPECT_THAT(text, HasSubstr("10 begun, in 14 attempts"));
  EXPECT_THAT(text, HasSubstr("3 were lost"));
  EXPECT_THAT(text, HasSubstr("2 did not happen"));
  EXPECT_THAT(text, HasSubstr("Not as promised: 0; allowed after a failover, as documented: 1."));
}

TEST(ChaosReport, HasALineForEachStoreAndEachKindOfFault) {
  auto broken = clean();
  broken.store = "sqlite";
  broken.lost = 1;
  broken.details = {"an update was lost"};
  for (const auto& text : {as_table({clean(), broken}), as_markdown({clean(), broken})}) {
    EXPECT_THAT(text, HasSubstr("clean"));
    EXPECT_THAT(text, HasSubstr("BROKEN: an update was lost"));
    EXPECT_THAT(text, HasSubstr("server killed"));
  }
  EXPECT_THAT(as_table({clean()}), Not(HasSubstr("BROKEN")));
}

}  // namespace
}  // namespace simba::chaos
