#include "zookeeper/queue/node_names.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::zookeeper {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

std::string refusal_of(const std::string& name) {
  try {
    check_node_name("mutex name", name);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return {};
}

TEST(NodeNames, OrdinaryNamesStayAsTheyAre) {
  for (const std::string name : {"orders", "a.b", "...", "100%", "with space", "Überweisung",
                                 "命令", "\xEF\xBF\xAF" /* U+FFEF */}) {
    EXPECT_THAT(refusal_of(name), IsEmpty()) << name;
  }
}

TEST(NodeNames, NamesThatMeanSomethingInPathsAreRefused) {
  EXPECT_THAT(refusal_of("."), HasSubstr("'.' is a relative path"));
  EXPECT_THAT(refusal_of(".."), HasSubstr("'..' is a relative path"));
  EXPECT_THAT(refusal_of("orders/eu"), HasSubstr("must not contain '/'"));
}

TEST(NodeNames, CharactersThatAServerRefusesAreRefusedHere) {
  EXPECT_THAT(refusal_of("a\tb"), HasSubstr("U+0009"));
  EXPECT_THAT(refusal_of("a\x7f"), HasSubstr("U+007F"));
  EXPECT_THAT(refusal_of("\xC2\x9F"), HasSubstr("U+009F"));
  EXPECT_THAT(refusal_of("\xEE\x80\x80"), HasSubstr("U+E000"));
  EXPECT_THAT(refusal_of("\xEF\xBF\xB0"), HasSubstr("U+FFF0"));
  EXPECT_THAT(refusal_of("\xF0\x9F\x98\x80"), HasSubstr("emoji"));
}

TEST(NodeNames, TheMessageNamesTheValueAndSaysWhatToDo) {
  EXPECT_THAT(refusal_of("a/b"), HasSubstr("mutex name"));
  EXPECT_THAT(refusal_of("a/b"), HasSubstr("choose another name"));
}

TEST(NodeNames, APrefixIsThatOfCurator) {
  const auto random = make_seeded_random(1);
  const std::string first = protective_prefix(*random);
  EXPECT_THAT(first, MatchesRegex("_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                  "[0-9a-f]{12}-latch-"));
  EXPECT_NE(first, protective_prefix(*random));
}

TEST(NodeNames, TheSequenceFollowsTheLastMark) {
  EXPECT_EQ(sequence_of("_c_1-latch-0000000007"), "0000000007");
  EXPECT_EQ(sequence_of("latch-0000000007"), "0000000007");
  EXPECT_EQ(sequence_of("latch-latch-0000000007"), "0000000007");
  EXPECT_EQ(sequence_of("lock-0000000007"), std::nullopt);
}

TEST(NodeNames, ContendersAreOrderedBySequenceWhateverStandsBefore) {
  EXPECT_THAT(contenders_among(
                  {"_c_a-latch-0000000010", "config", "_c_z-latch-0000000002", "latch-0000000003"}),
              ElementsAre("_c_z-latch-0000000002", "latch-0000000003", "_c_a-latch-0000000010"));
}

TEST(NodeNames, TheStepsToAPathAreItsPrefixes) {
  EXPECT_THAT(steps_to("/a/b/c"), ElementsAre("/a", "/a/b", "/a/b/c"));
  EXPECT_THAT(steps_to("/a"), ElementsAre("/a"));
  EXPECT_THAT(steps_to(""), IsEmpty());
}

}  // namespace
}  // namespace simba::zookeeper
