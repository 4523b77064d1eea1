#include "simba/config/make_factory.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/config/configuration.hpp"
#include "simba/locker/simba_locker.hpp"
#include "support/temporary_folder.hpp"
#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(MakeFactory, LocksAndUnlocksOnSqlite) {
  const support::TemporaryFolder folder;
  const std::string url = "sqlite:" + (folder.path() / "simba.db").string();
  const auto runtime = make_runtime();
  const auto factory = simba::make_factory(url, {.runtime = runtime});
  const auto other = simba::make_factory(url + "?ttl=5s", {.runtime = runtime});
  EXPECT_EQ(factory->runtime(), runtime);

  SimbaLocker mine{"m", *factory};
  SimbaLocker yours{"m", *other};
  EXPECT_TRUE(mine.try_acquire());
  EXPECT_FALSE(yours.try_acquire());
  mine.unlock();
  EXPECT_TRUE(yours.try_lock_for(30s));
}

TEST(MakeFactory, LocksTheFileThatTheUrlNamesWhateverTheEnvironmentSays) {
  const support::TemporaryFolder folder;
  const auto mine = folder.path() / "mine.db";
  const auto other = folder.path() / "other.db";
  ::setenv("SIMBA_SQLITE_PATH", other.c_str(), 1);
  {
    const auto factory = simba::make_factory("sqlite:" + mine.string());
    SimbaLocker locker{"m", *factory};
    EXPECT_TRUE(locker.try_lock_for(30s));
    const auto same =
        Configuration::from_url("sqlite:" + mine.string(), process_environment()).make_factory();
    SimbaLocker second{"m", *same};
    EXPECT_FALSE(second.try_acquire());
  }
  ::unsetenv("SIMBA_SQLITE_PATH");
  EXPECT_TRUE(std::filesystem::exists(mine));
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(MakeFactory, LocksInMemory) {
  const auto factory = simba::make_factory("memory:?ttl=1s");
  SimbaLocker locker{"m", *factory};
  EXPECT_TRUE(locker.try_acquire());
}

TEST(MakeFactory, MakesOneOfEveryStore) {
  for (const auto* const url : {"mysql://a@h/d", "postgresql://h", "redis://h", "zookeeper://h"}) {
    EXPECT_NE(simba::make_factory(url), nullptr) << url;
  }
}

TEST(MakeFactory, RefusesWhatIsWrong) {
  EXPECT_THAT(refusal_of([] { simba::make_factory("redis://h?tll=1s"); }), HasSubstr("\"ttl\""));
}

TEST(MakeAdmin, LooksAtSqlite) {
  const support::TemporaryFolder folder;
  const auto configuration =
      Configuration::from_url("sqlite:" + (folder.path() / "simba.db").string());
  const auto admin = configuration.make_admin();
  admin->init();
  EXPECT_TRUE(admin->list().empty());
}

TEST(MakeAdmin, IsNotThereInMemory) {
  EXPECT_THAT(
      refusal_of([] { Configuration::from_url("memory:").make_admin(); }, ErrorKind::unsupported),
      HasSubstr("inside one process"));
}

}  // namespace
}  // namespace simba::config
