// What the store makes of lost connections and answers, ended sessions and refusals, one by one.
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

using ZooKeeperStoreTrouble = StoreFixture;

TEST_F(ZooKeeperStoreTrouble, FailsWhatWaitsForTheFirstConnectionAfterItsTimeOut) {
  const auto answers = acquire();
  world.advance(5s);
  ASSERT_THAT(*answers, SizeIs(1));
  ASSERT_NE(answers->front().error(), nullptr);
  EXPECT_THAT(answers->front().error()->what(),
              HasSubstr("cannot connect to ZooKeeper at [127.0.0.1:2181]"));
  EXPECT_THAT(*acquire(), SizeIs(1)) << "the next one does not wait";
  connect();
  acquire();
  EXPECT_TRUE(sent("create"));
}

TEST_F(ZooKeeperStoreTrouble, ConnectionsAreCountedUntilTheyEnd) {
  const auto counted = [this] { return world.runtime()->statistics->snapshot().connections; };
  acquire();
  EXPECT_EQ(counted(), ConnectionStatistics{});
  connect();
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 1, .opened = 1}));
  disconnect();
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 0, .opened = 1}));
  client().tell(Connected{.session = session_id, .timeout = timeout});
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 1, .opened = 2}));
  attachment.reset();
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 0, .opened = 2}));
}

TEST_F(ZooKeeperStoreTrouble, ALostAnswerToTheCreationIsSettledByTheUuid) {
  const auto answers = acquire();
  connect();
  const std::string path = client().requests.front().path + "0000000004";
  disconnect();
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_NE(answers->front().error(), nullptr);
  const auto again = acquire();
  EXPECT_NE(again->front().error(), nullptr) << "not connected";
  client().tell(Connected{.session = session_id, .timeout = timeout});
  take("sync").done(Code::ok);  // the sign of life
  EXPECT_FALSE(sent("create"));
  const auto asked = acquire();
  take("sync").done(Code::ok);  // so that this server knows what the last one did
  take("children").listed(Code::ok, {name(path)});
  const Request own = take("get");
  EXPECT_EQ(own.path, path);
  own.created(Code::ok, "me", stat(55));
  take("children").listed(Code::ok, {name(path)});
  ASSERT_THAT(*asked, SizeIs(1));
  EXPECT_EQ(asked->front().record()->fencing_token, 55U);
}

TEST_F(ZooKeeperStoreTrouble, ACreationThatWasNotCarriedOutIsMadeAgain) {
  acquire();
  connect();
  disconnect();
  client().tell(Connected{.session = session_id, .timeout = timeout});
  take("sync").done(Code::ok);
  take("sync").done(Code::ok);
  take("children").listed(Code::ok, {"_c_other-latch-0000000001"});
  EXPECT_TRUE(sent("create"));
}

TEST_F(ZooKeeperStoreTrouble, ANodeOfAnotherSessionIsNotTakenForOurs) {
  const auto answers = acquire();
  connect();
  const Request create = take("create");
  create.created(Code::ok, create.path + "0000000001", stat(5, session_id + 1));
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_NE(answers->front().error(), nullptr);
}

TEST_F(ZooKeeperStoreTrouble, AnOwnerIsToldThatItsConnectionIsLostAndCannotRenew) {
  own();
  watch();
  disconnect();
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, Notice::Kind::suspended);
  const auto answers = guard();
  ASSERT_THAT(*answers, SizeIs(1));
  ASSERT_NE(answers->front().error(), nullptr);
  EXPECT_TRUE(answers->front().error()->is_transient());
}

TEST_F(ZooKeeperStoreTrouble, ConnectedAgainAnOwnerRenewsOnlyOnceItsNodeHasBeenSeen) {
  const std::string path = own(100);
  watch();
  disconnect();
  client().tell(Connected{.session = session_id, .timeout = timeout});
  EXPECT_EQ(notices.back().kind, Notice::Kind::changed) << "so that it renews";
  const auto answers = guard();
  EXPECT_THAT(*answers, SizeIs(0));
  take("children").listed(Code::ok, {name(path)});
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_EQ(answers->front().record()->owner_id, "me");
  EXPECT_EQ(answers->front().record()->fencing_token, 100U) << "the same ownership";
}

TEST_F(ZooKeeperStoreTrouble, ConnectedAgainAnOwnerWhoseNodeIsGoneIsToldSo) {
  own();
  watch();
  disconnect();
  client().tell(Connected{.session = session_id, .timeout = timeout});
  const auto answers = guard();
  take("children").listed(Code::ok, {"_c_a-latch-0000000009"});
  EXPECT_EQ(notices.back().kind, Notice::Kind::revoked);
  EXPECT_EQ(answers->front().record()->owner_id, "");
}

TEST_F(ZooKeeperStoreTrouble, AnEndedSessionRevokesAndBeginsANewOne) {
  own();
  watch();
  world.advance(5s);
  client().tell(Expired{});
  EXPECT_TRUE(connector->clients[0]->closed);
  EXPECT_THAT(connector->clients, SizeIs(2));
  EXPECT_EQ(notices.back().kind, Notice::Kind::revoked);
  const auto answers = acquire();
  EXPECT_THAT(*answers, SizeIs(0)) << "waits for the new session";
  client().tell(Connected{.session = session_id + 1, .timeout = timeout});
  EXPECT_TRUE(sent("create"));
}

TEST_F(ZooKeeperStoreTrouble, ARemovalByHandRevokesAtOnce) {
  const std::string path = own();
  watch();
  client().tell(NodeEvent{NodeEvent::Kind::removed, path});
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, Notice::Kind::revoked);
}

TEST_F(ZooKeeperStoreTrouble, ToStepDownAtOnceIsAnOption) {
  ZooKeeperOptions changed = options();
  changed.on_disconnect = OnDisconnect::step_down;
  use(changed);
  const std::string path = own();
  watch();
  disconnect();
  EXPECT_EQ(notices.back().kind, Notice::Kind::revoked);
  client().tell(Connected{.session = session_id, .timeout = timeout});
  const Request remove = take("remove");
  EXPECT_EQ(remove.path, path) << "it would keep the mutex for nobody";
}

TEST_F(ZooKeeperStoreTrouble, AReleaseThatFailsIsMadeUpForWhenConnectedAgain) {
  const std::string path = own(100);
  const auto answers = release(100);
  disconnect();
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_NE(answers->front().error(), nullptr);
  client().tell(Connected{.session = session_id, .timeout = timeout});
  EXPECT_EQ(take("remove").path, path);
}

TEST_F(ZooKeeperStoreTrouble, OneThatStopsInDoubtLooksForItsNodeAndRemovesIt) {
  acquire();
  connect();
  const std::string path = client().requests.front().path + "0000000004";
  release(0);
  disconnect();
  client().tell(Connected{.session = session_id, .timeout = timeout});
  take("sync").done(Code::ok);
  take("sync").done(Code::ok);
  take("children").listed(Code::ok, {name(path)});
  take("get").created(Code::ok, "me", stat(5));
  EXPECT_EQ(take("remove").path, path);
}

TEST_F(ZooKeeperStoreTrouble, NobodyIsGrantedAMutexWhileTheSessionIsNotProvenForLongEnough) {
  own(100);
  world.advance(8s);  // and no sign of life is answered
  const auto answers = acquire();
  const std::string second = answer_create("0000000002", 101);
  while (sent("children")) take("children").listed(Code::ok, {name(second)});
  EXPECT_THAT(*answers, SizeIs(0));
}

TEST_F(ZooKeeperStoreTrouble, AMissingRightIsAnErrorThatNamesTheNode) {
  const auto answers = acquire();
  connect();
  take("create").created(Code::no_auth, {}, {});
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_EQ(answers->front().error()->kind(), ErrorKind::permission);
  EXPECT_THAT(answers->front().error()->what(), HasSubstr("[/simba/m]"));
}

TEST_F(ZooKeeperStoreTrouble, RefusedCredentialsAreReportedAndTriedAgainLater) {
  const auto answers = acquire();
  client().tell(Failed{Error{ErrorKind::authentication, "refused"}});
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_EQ(answers->front().error()->kind(), ErrorKind::authentication);
  EXPECT_THAT(connector->clients, SizeIs(1));
  world.advance(1min);
  EXPECT_GT(connector->clients.size(), 1U);
}

TEST_F(ZooKeeperStoreTrouble, ASessionThatIsLetInAgainAndAgainButNeverServedIsGivenUp) {
  own();
  watch();
  for (int i = 0; i < 20 && connector->clients.size() == 1; ++i) {
    disconnect();
    world.advance(1s);
    client().tell(Connected{.session = session_id, .timeout = timeout});
  }
  EXPECT_THAT(connector->clients, SizeIs(2));
  EXPECT_TRUE(connector->clients[0]->closed);
  EXPECT_EQ(notices.back().kind, Notice::Kind::revoked);
}

/// Others may own what the session held as soon as it has ended.
class ZooKeeperStoreEndsASession : public StoreFixture {
 protected:
  void watch_the_end() {
    subscription = store->watch(request(), [this, client = &client()](const Notice& notice) {
      if (notice.kind == Notice::Kind::revoked) closed_when_told.push_back(client->closed);
    });
  }
  std::vector<bool> closed_when_told;
};

TEST_F(ZooKeeperStoreEndsASession, OnlyWhenItsOwnersHaveBeenToldThatTheCredentialsAreRefused) {
  own();
  watch_the_end();
  disconnect();
  client().tell(Failed{Error{ErrorKind::authentication, "refused"}});
  EXPECT_EQ(closed_when_told, std::vector{false});
  EXPECT_TRUE(client().closed);
}

TEST_F(ZooKeeperStoreEndsASession, OnlyWhenItsOwnersHaveBeenToldThatItIsNotServed) {
  own();
  watch_the_end();
  for (int i = 0; i < 20 && connector->clients.size() == 1; ++i) {
    disconnect();
    world.advance(1s);
    client().tell(Connected{.session = session_id, .timeout = timeout});
  }
  EXPECT_EQ(closed_when_told, std::vector{false});
  EXPECT_TRUE(connector->clients.front()->closed);
}

TEST_F(ZooKeeperStoreTrouble, ASessionThatEndsAsSoonAsItHasBegunIsNotFollowedByAnotherAtOnce) {
  acquire();
  connect();
  client().tell(Expired{});
  EXPECT_THAT(connector->clients, SizeIs(1));
  world.advance(2s);
  EXPECT_THAT(connector->clients, SizeIs(2));
}

TEST_F(ZooKeeperStoreTrouble, MoreNodesThanAServerTakesAreNotWatched) {
  acquire();
  connect();
  client().requests.clear();
  std::vector<std::unique_ptr<engine::Watch>> observers;
  const std::string long_name(60, 'x');
  std::size_t watches = 0;
  for (int i = 100'000; i < 113'000; ++i) {
    observers.push_back(store->watch({.mutex = long_name + std::to_string(i), .contender_id = {}},
                                     [](const Notice&) {}));
    take("children").listed(Code::no_node, {});
    const Request exists = take("exists");
    if (exists.watching == Watching::yes) ++watches;
    exists.seen(Code::no_node, {});
  }
  EXPECT_GT(watches, 9'000U);
  EXPECT_LT(watches, 10'000U) << "73 bytes each, at most 700,000";
}

TEST_F(ZooKeeperStoreTrouble, SomeoneBeforeOneThatLeadsMakesItLeave) {
  const std::string path = own(100);
  watch();
  disconnect();
  client().tell(Connected{.session = session_id, .timeout = timeout});
  const auto answers = guard();
  take("children").listed(Code::ok, {"_c_a-latch-0000000000", name(path)});
  EXPECT_EQ(notices.back().kind, Notice::Kind::revoked);
  ASSERT_THAT(*answers, SizeIs(1));
  EXPECT_EQ(answers->front().record()->owner_id, "");
  EXPECT_EQ(take("remove").path, path);
}

TEST_F(ZooKeeperStoreTrouble, SequenceNumbersThatNoLongerSortAreRefused) {
  const auto answers = acquire();
  connect();
  const std::string path = answer_create("-2147483648", 5);
  ASSERT_THAT(*answers, SizeIs(1));
  ASSERT_NE(answers->front().error(), nullptr);
  EXPECT_THAT(answers->front().error()->what(), HasSubstr("exhausted"));
  EXPECT_EQ(take("remove").path, path);
}

TEST_F(ZooKeeperStoreTrouble, AnOwnerWhoseWatchBeginsAfterTheConnectionWasLostIsTold) {
  own();
  disconnect();
  watch();
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, Notice::Kind::suspended);
}

TEST_F(ZooKeeperStoreTrouble, AWatchOnANodeThatWasNotThereIsNotCounted) {
  acquire();
  connect();
  const std::string own = answer_create("0000099999", 102);
  for (int i = 10'000; i < 25'000; ++i) {
    const std::string gone = "_c_gone-latch-00000" + std::to_string(i);
    take("children").listed(Code::ok, {name(own), gone});
    const Request before = take("get");
    ASSERT_EQ(before.watching, Watching::yes) << i;
    if (i % 50 == 0) {  // a hundred in a row would look like a server out of its mind
      before.created(Code::ok, "someone", stat(5, 5));
      client().tell(NodeEvent{NodeEvent::Kind::removed, before.path});
    } else {
      before.created(Code::no_node, {}, {});
    }
  }
}

TEST_F(ZooKeeperStoreTrouble, AnOwnerWhoseNodeCannotBeWatchedLooksAfterItOnceInASession) {
  const std::string path = own();
  watch();
  client().tell(NodeEvent{NodeEvent::Kind::changed, path});  // the watch is used up
  take("get").created(Code::connection_loss, {}, {});        // and not made again
  int looks = 0;
  for (int i = 0; i < 25; ++i) {
    world.advance(1s);
    while (sent("sync")) take("sync").done(Code::ok);
    while (sent("children")) {
      ++looks;
      take("children").listed(Code::ok, {name(path)});
      take("get").created(Code::connection_loss, {}, {});
    }
  }
  EXPECT_GE(looks, 2);
}

}  // namespace
}  // namespace simba::zookeeper
