#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "process/zookeeper/contenders.hpp"
#include "support/temporary_folder.hpp"
#include "support/zookeeper/zookeeper_console.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::now;
using support::ZooKeeperEnsemble;

/// Runs the whole contract, by the program that does so for an ensemble, on one that has lost a
/// server while a mutex of it was owned. The owner has to keep it until the end.
class ZooKeeperDegradedContract : public ::testing::Test {
 protected:
  void SetUp() override {
    owner_ = std::make_unique<Contending>(*factory_, "owned-all-the-time");
    ASSERT_TRUE(owner_->owns());
    token_ = owner_->service->fencing_token();
  }

  void expect_contract_without(std::size_t index) {
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "simba-contract-tests";
    ASSERT_TRUE(std::filesystem::exists(program)) << program << " has to be built";
    ensemble_.node(index).kill();
    ASSERT_TRUE(eventually([&] { return ensemble_.has_leader(); }));
    const support::TemporaryFolder folder;
    const auto location = folder.path() / "location";
    const auto log = folder.path() / "log";
    std::ofstream{location} << to_string(ensemble_.location()) << '\n';
    const auto command = fmt::format(
        "SIMBA_TEST_ZOOKEEPER_ENSEMBLE='{}' '{}' --store=zookeeper-ensemble "
        "--gtest_brief=1 > '{}' 2>&1",
        location.string(), program.string(), log.string());
    // NOLINTNEXTLINE(*-env33-c, concurrency-mt-unsafe): our own words, and nobody else does so
    EXPECT_EQ(std::system(command.c_str()), 0)
        << std::string{std::istreambuf_iterator<char>{std::ifstream{log}.rdbuf()}, {}};

    // The nodes of its mutexes tell that it was here.
    support::ZooKeeperConsole console{ensemble_.location()};
    EXPECT_GT(console.children("/simba").size(), 20U);
    EXPECT_FALSE(ensemble_.all_serve());
    EXPECT_TRUE(owner_->service->is_owner());
    EXPECT_EQ(owner_->service->fencing_token(), token_);
    EXPECT_EQ(owner_->contender.releases(), 0U);
  }

  static ZooKeeperOptions options(const support::Location& location) {
    auto result = options_of(support::connect_string(location));
    result.session_timeout = support::scaled(10s);  // in which a leader is surely found
    result.tick_time = support::zookeeper_tick;
    result.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
    return result;
  }

  // Nodes of mutexes stay, to be counted.
  ZooKeeperEnsemble ensemble_{{"-Dznode.container.checkIntervalMs=600000"}};
  const std::unique_ptr<MutexServiceFactory> factory_ =
      make_zookeeper_factory(options(ensemble_.location()));
  std::unique_ptr<Contending> owner_;
  FencingToken token_ = 0;
};

TEST_F(ZooKeeperDegradedContract, HoldsWhenAFollowerHasDied) {
  expect_contract_without((ensemble_.leader() + 1) % ZooKeeperEnsemble::size);
}

TEST_F(ZooKeeperDegradedContract, HoldsWhenTheLeaderHasDiedWhileAMutexWasOwned) {
  expect_contract_without(ensemble_.leader());
}

}  // namespace
}  // namespace simba::zookeeper::test
