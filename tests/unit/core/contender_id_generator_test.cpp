#include "simba/core/contender_id_generator.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host_address.hpp"
#include "simba/core/names.hpp"
#include "unit/core/forked.hpp"
#include "unit/core/without_system_calls.hpp"

namespace simba {
namespace {

std::uint64_t count_of(const std::string& id) { return std::stoull(id); }

std::string rest_of(const std::string& id) { return id.substr(id.find(':')); }

std::string mark_of(const std::string& id) { return id.substr(id.rfind('-') + 1); }

std::string this_process() {
  return ":" + std::to_string(::getpid()) + "@" + detail::host_address();
}

TEST(HostContenderId, IsCounterPidAndAddress) {
  const auto id = ContenderIdGenerator::host().generate();
  EXPECT_EQ(rest_of(id), this_process());
}

TEST(HostContenderId, CountsUp) {
  const auto first = count_of(ContenderIdGenerator::host().generate());
  EXPECT_EQ(count_of(ContenderIdGenerator::host().generate()), first + 1);
}

TEST(HostContenderId, IsGivenOutOnceHoweverManyThreadsAsk) {
  std::vector<std::vector<std::string>> ids(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (auto& mine : ids) {
      threads.emplace_back([&mine] {
        for (int i = 0; i < 1'000; ++i) mine.push_back(ContenderIdGenerator::host().generate());
      });
    }
  }
  std::set<std::string> all;
  for (const auto& mine : ids) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4'000U);
}

TEST(HostContenderId, StartsAtZeroAgainInAForkedChildAndNamesItsPid) {
  ContenderIdGenerator::host().generate();
  EXPECT_TRUE(test::in_forked_child([] {
    const auto first = ContenderIdGenerator::host().generate();
    const auto second = ContenderIdGenerator::host().generate();
    const bool grandchild = test::in_forked_child(
        [] { return ContenderIdGenerator::host().generate() == "0" + this_process(); });
    return first == "0" + this_process() && second == "1" + this_process() && grandchild;
  }));
}

TEST(HostContenderId, GoesOnCountingInTheParentOfAFork) {
  const auto before = count_of(ContenderIdGenerator::host().generate());
  EXPECT_TRUE(
      test::in_forked_child([] { return !ContenderIdGenerator::host().generate().empty(); }));
  EXPECT_EQ(count_of(ContenderIdGenerator::host().generate()), before + 1);
}

TEST(UniqueContenderId, IsThatOfTheHostAndSixteenHexDigits) {
  EXPECT_THAT(ContenderIdGenerator::unique().generate(),
              testing::MatchesRegex("[0-9]+" + this_process() + "-[0-9a-f]{16}"));
}

TEST(UniqueContenderId, IsWithinTheBoundsOfEveryStore) {
  EXPECT_NO_THROW(check_name("contender id", ContenderIdGenerator::unique().generate(),
                             NameLimits{}.contender_id));
  const std::string longest = "1099511627775:4194304@" + std::string(45, 'f') + "-";
  EXPECT_NO_THROW(
      check_name("contender id", longest + std::string(16, 'f'), NameLimits{}.contender_id));
}

TEST(UniqueContenderId, KeepsItsMarkInOneProcessAndCountsUp) {
  const auto first = ContenderIdGenerator::unique().generate();
  const auto second = ContenderIdGenerator::unique().generate();
  EXPECT_EQ(mark_of(first), mark_of(second));
  EXPECT_EQ(count_of(second), count_of(first) + 1);
}

// Two containers on two hosts are process 1 at the same address: only the mark tells them apart.
TEST(UniqueContenderId, HasAnotherMarkInAnotherProcess) {
  const auto ours = ContenderIdGenerator::unique().generate();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_TRUE(test::in_forked_child([&] {
    const auto child = mark_of(ContenderIdGenerator::unique().generate());
    const bool grandchild = test::in_forked_child(
        [&] { return mark_of(ContenderIdGenerator::unique().generate()) != child; });
    return grandchild && ::write(ends[1], child.data(), child.size()) == 16;
  }));
  std::string of_child(16, ' ');
  EXPECT_EQ(::read(ends[0], of_child.data(), of_child.size()), 16);
  EXPECT_NE(of_child, mark_of(ours));
  EXPECT_EQ(mark_of(ContenderIdGenerator::unique().generate()), mark_of(ours));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(UniqueContenderId, HasOneMarkHoweverManyThreadsAskFirst) {
  EXPECT_TRUE(test::in_forked_child([] {  // where nobody has asked yet
    std::vector<std::string> ids(4);
    {
      std::vector<std::jthread> threads;
      threads.reserve(ids.size());
      for (auto& id : ids) {
        threads.emplace_back([&id] { id = ContenderIdGenerator::unique().generate(); });
      }
    }
    std::set<std::string> marks;
    for (const auto& id : ids) marks.insert(mark_of(id));
    return marks.size() == 1 && std::set<std::string>(ids.begin(), ids.end()).size() == ids.size();
  }));
}

TEST(UuidContenderId, IsAVersion4UuidOf32HexDigits) {
  for (int i = 0; i < 200; ++i) {
    EXPECT_THAT(ContenderIdGenerator::uuid().generate(),
                testing::MatchesRegex("[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}"));
  }
}

TEST(UuidContenderId, DoesNotRepeat) {
  std::set<std::string> all;
  for (int i = 0; i < 1'000; ++i) all.insert(ContenderIdGenerator::uuid().generate());
  EXPECT_EQ(all.size(), 1'000U);
}

TEST(UuidContenderId, DoesNotRepeatWhereTheKernelHasNoRandomNumbers) {
  std::set<std::string> ids;
  test::without_system_calls({SYS_getrandom}, ENOSYS, [&] {
    for (int i = 0; i < 100; ++i) ids.insert(ContenderIdGenerator::uuid().generate());
  });
  EXPECT_EQ(ids.size(), 100U);
  EXPECT_THAT(*ids.begin(), ::testing::MatchesRegex("[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}"));
}

TEST(UuidContenderId, DiffersBetweenAForkedChildAndItsParent) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_TRUE(test::in_forked_child([&] {
    const auto id = ContenderIdGenerator::uuid().generate();
    return ::write(ends[1], id.data(), id.size()) == 32;
  }));
  std::string of_child(32, ' ');
  EXPECT_EQ(::read(ends[0], of_child.data(), of_child.size()), 32);
  EXPECT_NE(of_child, ContenderIdGenerator::uuid().generate());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace simba
