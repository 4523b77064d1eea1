#include "simba/core/contender_id_generator.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host_address.hpp"
#include "unit/core/forked.hpp"

namespace simba {
namespace {

std::uint64_t count_of(const std::string& id) { return std::stoull(id); }

std::string rest_of(const std::string& id) { return id.substr(id.find(':')); }

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
