#include "chaos/command_line.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> known{"sqlite", "redis"};

std::string complaint(const std::vector<std::string>& words) {
  try {
    static_cast<void>(parse_command_line(words, known));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(ChaosCommandLine, TakesOptionsInBothForms) {
  const auto line =
      parse_command_line({"--store=redis,sqlite", "--seconds", "7", "--seed=9", "--parallel", "2",
                          "--contenders=3", "--jvm=1", "--out", "folder", "--report=file"},
                         known);
  EXPECT_EQ(line.action, CommandLine::Action::run);
  EXPECT_THAT(line.stores, ElementsAre("redis", "sqlite"));
  EXPECT_EQ(line.length, std::chrono::seconds{7});
  EXPECT_EQ(line.seed, 9U);
  EXPECT_EQ(line.parallel, 2);
  EXPECT_EQ(line.contenders, 3);
  EXPECT_EQ(line.jvm, 1);
  EXPECT_EQ(line.out, "folder");
  EXPECT_EQ(line.report, "file");
  EXPECT_THAT(parse_command_line({"--store", "all"}, known).stores, ElementsAre("sqlite", "redis"));
  EXPECT_EQ(parse_command_line({"--list"}, known).action, CommandLine::Action::list);
  EXPECT_FALSE(line.resume);
  EXPECT_TRUE(parse_command_line({"--store=all", "--out=folder", "--resume"}, known).resume);
}

TEST(ChaosCommandLine, TakesAStoreWhoseServerIsFetchedWhereItIsNamed) {
  const std::vector<std::string> fetched{"mysql97"};
  EXPECT_THAT(parse_command_line({"--store=redis,mysql97"}, known, fetched).stores,
              ElementsAre("redis", "mysql97"));
  EXPECT_THAT(parse_command_line({"--store=all"}, known, fetched).stores,
              ElementsAre("sqlite", "redis"));
}

TEST(ChaosCommandLine, SaysWhatIsWrongAndWhatIsAllowed) {
  EXPECT_THAT(complaint({}), HasSubstr("--store is missing; there are all, sqlite, redis"));
  EXPECT_THAT(complaint({"--store", "oracle"}), HasSubstr("no store 'oracle'"));
  EXPECT_THAT(complaint({"--store", "redis,"}), HasSubstr("no store ''"));
  EXPECT_THAT(complaint({"--store"}), HasSubstr("--store needs a value"));
  EXPECT_THAT(complaint({"--seconds", "soon"}), HasSubstr("'soon' is no whole number from 1"));
  EXPECT_THAT(complaint({"--seconds", "0"}), HasSubstr("from 1 to"));
  EXPECT_THAT(complaint({"--contenders", "1"}), HasSubstr("from 2 to 16"));
  EXPECT_THAT(complaint({"--jvm", "5"}), HasSubstr("from 0 to 4"));
  EXPECT_THAT(complaint({"--seed", "-1"}), HasSubstr("'-1'"));
  EXPECT_THAT(complaint({"--speed", "1"}), HasSubstr("unknown option '--speed'"));
  EXPECT_THAT(complaint({"--bogus"}), HasSubstr("unknown option '--bogus'"));
  EXPECT_THAT(complaint({"redis"}), HasSubstr("'redis' is no option"));
  EXPECT_THAT(complaint({"--store=redis", "--resume"}), HasSubstr("--resume needs --out"));
}

}  // namespace
}  // namespace simba::chaos
