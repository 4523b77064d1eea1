// What the store asks of ZooKeeper, and what it makes of the answers, one by one.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/zookeeper/store_fixture.hpp"

namespace simba::zookeeper {
namespace {

using engine::LeaseRecord;
using engine::Notice;
using testing::HasSubstr;
using testing::SizeIs;

using ZooKeeperStoreTest = StoreFixture;

TEST_F(ZooKeeperStoreTest, ConnectsAtTheFirstRequestWhichWaitsForIt) {
  EXPECT_THAT(connector->clients, SizeIs(0));
  const auto answers = acquire();
  EXPECT_THAT(connector->clients, SizeIs(1));
  EXPECT_THAT(*answers, SizeIs(0));
  connect();
  EXPECT_TRUE(sent("create"));
}

TEST_F(ZooKeeperStoreTest, ANodeIsCreatedAndThePlaceLookedAtTogether) {
  acquire();
  connect();
  const Request create = take("create");
  EXPECT_THAT(create.path, testing::MatchesRegex("/simba/m/_c_.*-latch-"));
  EXPECT_EQ(create.data, "me");
  EXPECT_EQ(create.kind, NodeKind::ephemeral_sequential);
  EXPECT_EQ(take("children").path, parent);
}

TEST_F(ZooKeeperStoreTest, TheLowestOwnsWithTheZxidOfItsNodeAsToken) {
  const auto answers = acquire();
  const LocalTime asked = world.now();
  connect();
  const std::string own = answer_create("0000000007", 123);
  take("children").listed(Code::ok, {"_c_x-latch-0000000009", name(own)});
  ASSERT_THAT(*answers, SizeIs(1));
  const LeaseRecord* record = answers->front().record();
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->owner_id, "me");
  EXPECT_EQ(record->fencing_token, 123U);
  EXPECT_EQ(record->lease.acquired_at, StoreTime{5'000ms});
  EXPECT_EQ(record->transition_left, timeout);
  EXPECT_EQ(record->counted_from, asked) << "a new session counts from before it was asked for";
  const Request get = take("get");
  EXPECT_EQ(get.path, own);
  EXPECT_EQ(get.watching, Watching::yes) << "so that a removal by hand is heard of";
}

TEST_F(ZooKeeperStoreTest, AWaiterWatchesOnlyTheOneBeforeItAndSeesWhoOwns) {
  const auto answers = acquire();
  connect();
  const std::string own = answer_create("0000000003", 103);
  take("children").listed(Code::ok, {name(own), "_c_a-latch-0000000001", "_c_b-latch-0000000002"});
  const Request owner = take("get");
  EXPECT_EQ(owner.path, "/simba/m/_c_a-latch-0000000001");
  EXPECT_EQ(owner.watching, Watching::no);
  const Request before = take("get");
  EXPECT_EQ(before.path, "/simba/m/_c_b-latch-0000000002");
  EXPECT_EQ(before.watching, Watching::yes);
  owner.created(Code::ok, "the owner", stat(101, 5));
  before.created(Code::ok, "b", stat(102, 6));
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_EQ(answers->front().record()->owner_id, "the owner");
  EXPECT_EQ(answers->front().record()->fencing_token, 101U);
}

TEST_F(ZooKeeperStoreTest, AWaiterLooksWhenTheOneBeforeItGoesAndIsGrantedTheMutex) {
  acquire();
  connect();
  const std::string own = answer_create("0000000002", 102);
  take("children").listed(Code::ok, {name(own), "_c_a-latch-0000000001"});
  take("get").created(Code::ok, "a", stat(101, 5));
  watch();
  client().tell(NodeEvent{NodeEvent::Kind::removed, "/simba/m/_c_other-latch-0000000001"});
  EXPECT_FALSE(sent("children")) << "that was someone else";
  client().tell(NodeEvent{NodeEvent::Kind::removed, "/simba/m/_c_a-latch-0000000001"});
  take("children").listed(Code::ok, {name(own)});
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, Notice::Kind::granted);
  EXPECT_EQ(notices[0].record->fencing_token, 102U);
  EXPECT_TRUE(notices[0].record->counted_from.has_value());
}

TEST_F(ZooKeeperStoreTest, MissingParentsAreMadeAsContainers) {
  const auto answers = acquire();
  connect();
  take("create").created(Code::no_node, {}, {});
  take("children").listed(Code::no_node, {});
  const Request first = take("create");
  const Request second = take("create");
  EXPECT_EQ(first.path, "/simba");
  EXPECT_EQ(second.path, parent);
  EXPECT_EQ(first.kind, NodeKind::container);
  first.created(Code::node_exists, {}, {});
  second.created(Code::ok, parent, {});
  take("sync").done(Code::ok);
  const std::string own = answer_create("0000000000", 9);
  take("children").listed(Code::ok, {name(own)});
  EXPECT_THAT(*answers, SizeIs(1));
}

TEST_F(ZooKeeperStoreTest, WhereTheServerKnowsNoContainersParentsArePersistent) {
  acquire();
  connect();
  take("create").created(Code::no_node, {}, {});
  take("create").created(Code::unimplemented, {}, {});
  take("create").created(Code::unimplemented, {}, {});
  const Request first = take("create");
  EXPECT_EQ(first.path, "/simba");
  EXPECT_EQ(first.kind, NodeKind::persistent);
}

TEST_F(ZooKeeperStoreTest, ARenewalAsksNobodyAndTellsHowFarTheSessionIsProven) {
  own();
  const LocalTime begun = world.now();
  const auto before = guard();
  ASSERT_THAT(*before, SizeIs(1));
  EXPECT_EQ(before->front().record()->counted_from, begun);
  world.advance(1s);
  take("sync").done(Code::ok);
  world.advance(1s);
  take("sync").done(Code::ok);
  const auto after = guard();
  EXPECT_TRUE(client().requests.empty());
  EXPECT_EQ(after->front().record()->counted_from, begun)
      << "the sign of life at the beginning, proven by the one two seconds later";
  world.advance(1s);
  take("sync").done(Code::ok);
  EXPECT_EQ(guard()->front().record()->counted_from, begun + 1s);
}

TEST_F(ZooKeeperStoreTest, AReleaseRemovesTheNode) {
  const std::string path = own(100);
  const auto answers = release(100);
  const Request remove = take("remove");
  EXPECT_EQ(remove.path, path);
  EXPECT_THAT(*answers, SizeIs(0));
  remove.done(Code::ok);
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_EQ(answers->front().record()->owner_id, "");
}

TEST_F(ZooKeeperStoreTest, AReleaseUnderAnotherTokenChangesNothingAndTellsTheRightOne) {
  own(100);
  const auto answers = release(99);
  EXPECT_FALSE(sent("remove"));
  EXPECT_EQ(answers->front().record()->fencing_token, 100U);
}

TEST_F(ZooKeeperStoreTest, OneThatStopsWhileItsNodeIsMadeLeavesNoneBehind) {
  acquire();
  connect();
  const auto answers = release(0);
  const std::string path = answer_create("0000000001", 5);
  const Request remove = take("remove");
  EXPECT_EQ(remove.path, path);
  remove.done(Code::ok);
  EXPECT_THAT(*answers, SizeIs(1));
}

TEST_F(ZooKeeperStoreTest, OneThatAsksAgainAfterAGrantGetsAnotherNodeAndSoAGreaterToken) {
  const std::string first = own(100);
  const auto answers = acquire();
  EXPECT_EQ(take("remove").path, first);
  const std::string second = answer_create("0000000002", 101);
  EXPECT_NE(first, second);
  take("children").listed(Code::ok, {name(second)});
  EXPECT_EQ(answers->front().record()->fencing_token, 101U);
}

TEST_F(ZooKeeperStoreTest, AnOwnerUnderTheSameIdInAnotherSessionIsNotTakenForOurs) {
  const auto answers = acquire();
  connect();
  const std::string own = answer_create("0000000002", 102);
  take("children").listed(Code::ok, {name(own), "_c_a-latch-0000000001"});
  take("get").created(Code::ok, "me", stat(101, 5));
  ASSERT_THAT(*answers, SizeIs(1));
  ASSERT_NE(answers->front().record(), nullptr);
  EXPECT_EQ(answers->front().record()->owner_id, "me");
  EXPECT_TRUE(answers->front().record()->namesake);
}

TEST_F(ZooKeeperStoreTest, ClosingAnswersWhatWaitsAndEndsTheSession) {
  const auto answers = acquire();
  connect();
  attachment.reset();
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_NE(answers->front().error(), nullptr);
  EXPECT_TRUE(client().closed);
  EXPECT_EQ(connector->waits, 1);
  EXPECT_NE(acquire()->front().error(), nullptr);
}

TEST_F(ZooKeeperStoreTest, TheNodeOfTheServersIsNoMutex) {
  ZooKeeperOptions changed = options();
  changed.base_path = "/";
  use(changed);
  EXPECT_THROW(store->check_names("zookeeper", "me"), InvalidArgumentError);
  EXPECT_NO_THROW(store->check_names("zoo", "me"));
}

TEST_F(ZooKeeperStoreTest, AHandlerMayBeTheLastToHoldTheStore) {
  auto last = std::make_shared<std::shared_ptr<void>>(std::move(attachment));
  store->retrieve(request(), [last](const engine::LeaseAnswer&) {});
  last.reset();
  connect();
  take("children").listed(Code::no_node, {});
  EXPECT_TRUE(client().closed);
}

}  // namespace
}  // namespace simba::zookeeper
