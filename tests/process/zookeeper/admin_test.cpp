// What tools do with a ZooKeeper store.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/admin_checks.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/zookeeper/zookeeper_admin.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"
#include "support/zookeeper/zookeeper_client_options.hpp"
#include "support/zookeeper/zookeeper_console.hpp"

namespace simba::admin_test {
namespace {

using support::ZooKeeperConsole;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using zookeeper::make_zookeeper_admin;
using zookeeper::ZooKeeperOptions;

ZooKeeperOptions options_at(const std::string& base_path) {
  auto options = support::zookeeper_options(support::zookeeper_location());
  options.base_path = base_path;
  return options;
}

struct ZooKeeperAdmin : testing::Test {
  const std::string base = "/" + unique("admin");
  const ZooKeeperOptions options = options_at(base);
  const std::unique_ptr<engine::StoreAdmin> admin = make_zookeeper_admin(options, quiet_runtime());
};

TEST_F(ZooKeeperAdmin, MakesTheBasePathOnce) {
  EXPECT_EQ(admin->init(), "created node " + base);
  EXPECT_EQ(admin->init(), "node " + base + " already exists");
  EXPECT_TRUE(ZooKeeperConsole{support::zookeeper_location()}.exists(base));
}

TEST_F(ZooKeeperAdmin, KnowsNothingBeforeTheFirstUse) {
  EXPECT_THAT(admin->list(), IsEmpty());
  EXPECT_EQ(admin->find("any").owner_id, "");
  EXPECT_EQ(admin->evict("any").owner_id, "");
}

TEST_F(ZooKeeperAdmin, ShowsWhoOwnsAMutex) {
  const auto factory = zookeeper::make_zookeeper_factory(options);
  expect_owner_is_seen(*admin, *factory, false);
}

TEST_F(ZooKeeperAdmin, EvictsAnOwnerAndTheWaiterGetsTheMutex) {
  const auto factory = zookeeper::make_zookeeper_factory(options);
  const auto other = zookeeper::make_zookeeper_factory(options);
  expect_eviction_hands_over(*admin, *factory, *other);
}

TEST_F(ZooKeeperAdmin, ListsThoseWhoWaitInTheirOrder) {
  const auto factory = zookeeper::make_zookeeper_factory(options);
  expect_waiting_are_listed_in_order(*admin, *factory);
}

TEST_F(ZooKeeperAdmin, LeavesFreeMutexesAlone) {
  const auto factory = zookeeper::make_zookeeper_factory(options);
  expect_free_mutexes_stay_free(*admin, *factory);
}

TEST_F(ZooKeeperAdmin, TakesTheNodeOfTheRecordsForNoMutex) {
  ZooKeeperConsole console{support::zookeeper_location()};
  const auto factory = zookeeper::make_zookeeper_factory(options);
  const auto written = std::make_shared<std::promise<RecordResult>>();
  factory->records()->write({.mutex = "m", .text = "x"}, [written](RecordResult result) {
    written->set_value(std::move(result));
  });
  auto result = written->get_future();
  ASSERT_EQ(result.wait_for(support::scaled(std::chrono::seconds{10})), std::future_status::ready);
  ASSERT_TRUE(std::holds_alternative<RecordAnswer>(result.get()));
  EXPECT_TRUE(console.exists(base + "/simba:records/m"));
  EXPECT_THAT(admin->list(), IsEmpty());
}

TEST_F(ZooKeeperAdmin, RefusesNamesOutOfBounds) {
  expect_bad_names_are_refused(*admin);
  EXPECT_THROW(admin->find("a/b"), InvalidArgumentError);
}

TEST_F(ZooKeeperAdmin, ListsAThousandMutexes) {
  const auto store = zookeeper::make_zookeeper_store(options, quiet_runtime());
  const auto attached = store->attach();
  expect_thousand_are_listed(*admin, *store);
}

TEST_F(ZooKeeperAdmin, NodesOfOthersInTheRootAreNoMutexes) {
  const auto root = make_zookeeper_admin(options_at("/"), quiet_runtime());
  admin->init();
  const auto all = root->list();
  EXPECT_EQ(entry_of(all, "zookeeper"), nullptr);
  EXPECT_EQ(entry_of(all, base.substr(1)), nullptr);
  EXPECT_THAT(root->init(), HasSubstr("nothing to do"));
  EXPECT_THAT(problems(root->examine()), IsEmpty());
}

TEST_F(ZooKeeperAdmin, ANodeThatIsClosedToUsHidesNoOtherMutexes) {
  admin->init();
  auto closing = options;
  closing.digest_user = "mallory";
  closing.digest_password = Secret{"mallorys-password"};
  closing.acl = zookeeper::NodeAcl::creator;
  const auto open = zookeeper::make_zookeeper_factory(options);
  const auto closed = zookeeper::make_zookeeper_factory(closing);
  const Member ann{*open, "good", "ann"};
  const Member mallory{*closed, "closed", "mallory"};
  ASSERT_TRUE(ann.contender.wait_for_acquisitions(1, patience));
  ASSERT_TRUE(mallory.contender.wait_for_acquisitions(1, patience));
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto listing = make_zookeeper_admin(options, runtime_with(log));
  expect_unreadable_is_left_out(*listing, *log, "good", "closed");
}

TEST_F(ZooKeeperAdmin, TellsVersionTimeAndSessionTimeout) {
  const auto before = admin->examine();
  EXPECT_THAT(problems(before), IsEmpty());
  EXPECT_THAT(notes(before), Contains(HasSubstr("does not exist yet")));
  admin->init();
  const auto report = admin->examine();
  EXPECT_THAT(report.server, testing::StartsWith("ZooKeeper 3."));
  EXPECT_LT(offset_of(report), support::scaled(5s));
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(warnings(report), IsEmpty());
  EXPECT_THAT(notes(report), ElementsAre(HasSubstr("session timeout is 16000 ms")));
  EXPECT_THAT(ZooKeeperConsole{support::zookeeper_location()}.children(base), IsEmpty());
}

TEST_F(ZooKeeperAdmin, WarnsOfASessionTimeoutThatTheServersChange) {
  auto longer = options;
  longer.session_timeout = 120s;
  const auto report = make_zookeeper_admin(longer, quiet_runtime())->examine();
  EXPECT_THAT(warnings(report), ElementsAre(testing::AllOf(HasSubstr("120000 ms was requested"),
                                                           HasSubstr("granted 60000 ms"))));
}

TEST_F(ZooKeeperAdmin, FindsATickThatIsLongerThanAssumed) {
  auto shorter = options;
  shorter.tick_time = support::zookeeper_tick / 2;
  const auto report = make_zookeeper_admin(shorter, quiet_runtime())->examine();
  EXPECT_THAT(problems(report), Contains(testing::AllOf(HasSubstr("tickTime of server"),
                                                        HasSubstr("set tick_time"))));
}

TEST_F(ZooKeeperAdmin, WarnsWhereCredentialsDoNotProtect) {
  ZooKeeperConsole console{support::zookeeper_location()};
  console.create(base + "/theirs", "");
  auto owner = options;
  owner.digest_user = "owner";
  owner.digest_password = Secret{"owner-password-77"};
  EXPECT_THAT(warnings(make_zookeeper_admin(owner, quiet_runtime())->examine()),
              ElementsAre(HasSubstr("the base path " + base + " is open to everyone"),
                          HasSubstr("1 of 1 mutexes are open to everyone, for example " + base +
                                    "/theirs")));
  owner.acl = zookeeper::NodeAcl::open;
  EXPECT_THAT(warnings(make_zookeeper_admin(owner, quiet_runtime())->examine()),
              ElementsAre(HasSubstr("acl is open")));
  owner.acl = zookeeper::NodeAcl::unset;
  owner.base_path = base + "-closed";
  const auto closed = make_zookeeper_admin(owner, quiet_runtime());
  closed->init();
  EXPECT_THAT(warnings(closed->examine()), IsEmpty());
}

TEST_F(ZooKeeperAdmin, FindsThatTheBasePathIsSomeoneElses) {
  auto owner = options;
  owner.digest_user = "owner";
  owner.digest_password = Secret{"owner-password-77"};
  owner.acl = zookeeper::NodeAcl::creator;
  const auto theirs = make_zookeeper_admin(owner, quiet_runtime());
  theirs->init();
  EXPECT_THAT(problems(theirs->examine()), IsEmpty());
  const auto report = admin->examine();
  EXPECT_THAT(problems(report),
              ElementsAre(HasSubstr("list the nodes of"), HasSubstr("create a node in")));
  EXPECT_EQ(error_of([&] { admin->list(); }).kind(), ErrorKind::permission);
}

TEST(ZooKeeperAdminOutage, IsToldInTimeAndOverWhenTheServerIsBack) {
  support::ZooKeeperServer server;
  auto options = support::zookeeper_options(server.location());
  options.connection_timeout = support::scaled(1s);
  const auto admin = make_zookeeper_admin(options, quiet_runtime());
  admin->init();
  EXPECT_THAT(admin->list(), IsEmpty());
  server.stop();
  expect_outage_is_told(*admin, 15s, "no password");
  server.start();
  EXPECT_TRUE(support::eventually([&] {
    try {
      return admin->list().empty();
    } catch (const Error&) {
      return false;
    }
  }));
  expect_silence_is_told(*admin, 15s, server);
}

}  // namespace
}  // namespace simba::admin_test
