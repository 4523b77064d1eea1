#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/zookeeper/beside_curator.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/safety.hpp"
#include "support/zookeeper/zookeeper_proxies.hpp"

namespace simba::zookeeper::test {
namespace {

TEST_F(ZooKeeperBesideCurator, ItWaitsAndWeRelease) {
  Ours ours{location, mutex, "0:1@10.0.0.1", ledger};
  CuratorContender curator{location, path, "0:2@10.0.0.2"};
  ours.start();
  ASSERT_TRUE(ours.acquires());
  curator.start();
  ASSERT_TRUE(are_in_line({"0:1@10.0.0.1", "0:2@10.0.0.2"}));
  EXPECT_EQ(curator.leader(), "0:1@10.0.0.1");
  EXPECT_FALSE(curator.leads());

  ours.stop();

  begin(curator);
  EXPECT_GT(acquired_at, ours.released_at()) << support::safety_violation << "two owners";
  EXPECT_FALSE(ours.leads());
  EXPECT_EQ(curator.leader(), "0:2@10.0.0.2");
  EXPECT_TRUE(are_in_line({"0:2@10.0.0.2"}));
  EXPECT_EQ(curator.quit(), 0) << curator.transcript();
}

TEST_F(ZooKeeperBesideCurator, WeWaitAndItCloses) {
  CuratorContender curator{location, path, "it-\u00e4"};
  Ours ours{location, mutex, "we-\u00df", ledger};
  testkit::RecordingRetriever observer{mutex};
  const auto observing = ours.factory().create_mutex_retrieval_service(observer);
  observing->start();
  curator.start();
  begin(curator);
  EXPECT_TRUE(observer.wait_for_owner("it-\u00e4", scaled(curator_promptly)));
  ours.start();
  ASSERT_TRUE(are_in_line({"it-\u00e4", "we-\u00df"}));
  EXPECT_TRUE(eventually([&] { return ours.leader() == "it-\u00e4"; }));
  EXPECT_FALSE(ours.leads());

  end(curator);

  ASSERT_TRUE(ours.acquires());
  EXPECT_GT(ours.acquired_at(), closed_at) << support::safety_violation << "two owners";
  EXPECT_TRUE(observer.wait_for_owner("we-\u00df", scaled(curator_promptly)));
  EXPECT_EQ(curator.leader(), "we-\u00df");
  EXPECT_EQ(curator.quit(), 0) << curator.transcript();
}

TEST_F(ZooKeeperBesideCurator, EitherMayLeaveTheLineBeforeItsTurn) {
  Ours one{location, mutex, "one", ledger};
  Ours two{location, mutex, "two", ledger};
  CuratorContender first{location, path, "first"};
  CuratorContender second{location, path, "second"};
  one.start();
  ASSERT_TRUE(are_in_line({"one"}));
  first.start();
  ASSERT_TRUE(are_in_line({"one", "first"}));
  two.start();
  ASSERT_TRUE(are_in_line({"one", "first", "two"}));
  second.start();
  ASSERT_TRUE(are_in_line({"one", "first", "two", "second"}));

  first.close();
  ASSERT_TRUE(are_in_line({"one", "two", "second"}));
  two.stop();
  ASSERT_TRUE(are_in_line({"one", "second"}));
  EXPECT_TRUE(one.leads());
  one.stop();

  begin(second);
  EXPECT_FALSE(first.leads());
}

TEST_F(ZooKeeperBesideCurator, ItDiesAndWeGetTheMutexAfterItsSession) {
  Ours ours{location, mutex, "ours", ledger};
  CuratorContender curator{location, path, "curator", scaled(curator_session)};
  curator.start();
  begin(curator);
  ours.start();
  ASSERT_TRUE(are_in_line({"curator", "ours"}));

  const auto killed = now();
  curator.kill();

  ASSERT_TRUE(ours.acquires(1, take_over));
  // It has spoken to the servers within the last third of its session.
  EXPECT_GT(ours.acquired_at() - killed, scaled(curator_session) / 2);
}

TEST_F(ZooKeeperBesideCurator, OursDiesAndItGetsTheMutexAfterOurSession) {
  OurProcess ours{location, mutex, "ours"};
  ASSERT_TRUE(ours.acquires());
  CuratorContender curator{location, path, "curator"};
  curator.start();
  ASSERT_TRUE(are_in_line({"ours", "curator"}));

  const auto killed = now();
  ours.kill();

  begin(curator, take_over);
  EXPECT_GT(acquired_at - killed, scaled(curator_session) / 2);
}

TEST_F(ZooKeeperBesideCurator, OursIsCutOffAndItGetsTheMutexAfterWeHaveSteppedDown) {
  support::ZooKeeperProxies proxies{location};
  Ours ours{proxies.location(), mutex, "ours", ledger, short_contention()};
  CuratorContender curator{location, path, "curator"};
  ours.start();
  ASSERT_TRUE(ours.acquires());
  curator.start();
  ASSERT_TRUE(are_in_line({"ours", "curator"}));

  proxies.cut();
  begin(curator, take_over);
  EXPECT_FALSE(ours.leads());
  EXPECT_LT(ours.released_at(), acquired_at);
  proxies.mend();

  // It contends anew by itself.
  EXPECT_TRUE(are_in_line({"curator", "ours"}));
  end(curator);
  EXPECT_TRUE(ours.acquires(2));
}

TEST_F(ZooKeeperBesideCurator, ItIsCutOffAndWeGetTheMutexAfterItHasSteppedDown) {
  support::ZooKeeperProxies proxies{location};
  Ours ours{location, mutex, "ours", ledger};
  CuratorContender curator{proxies.location(), path, "curator", scaled(curator_session)};
  curator.start();
  begin(curator);
  ours.start();
  ASSERT_TRUE(are_in_line({"curator", "ours"}));

  proxies.cut();
  ASSERT_TRUE(ours.acquires(1, take_over));
  const auto released = curator.said("released");
  ASSERT_NE(released, "") << curator.transcript();
  EXPECT_LT(support::moment_of(released), ours.acquired_at());
  proxies.mend();

  EXPECT_TRUE(are_in_line({"ours", "curator"}));
  EXPECT_EQ(curator.leader(), "ours");
  ours.stop();
  begin(curator);
}

TEST_F(ZooKeeperBesideCurator, TheMutexChangesHandsManyTimes) {
  Ours ours{location, mutex, "ours", ledger};
  CuratorContender curator{location, path, "curator"};
  ours.start();
  for (std::size_t i = 1; i <= 25; ++i) {
    ASSERT_TRUE(ours.acquires(i));
    curator.start();
    ASSERT_TRUE(are_in_line({"ours", "curator"}));
    ASSERT_TRUE(ours.leads());
    ASSERT_FALSE(curator.leads());
    ours.stop();
    ASSERT_NO_FATAL_FAILURE(begin(curator));

    ours.start();
    ASSERT_TRUE(are_in_line({"curator", "ours"}));
    ASSERT_TRUE(curator.leads());
    ASSERT_FALSE(ours.leads());
    ASSERT_NO_FATAL_FAILURE(end(curator));
  }
  ASSERT_TRUE(ours.acquires(26));
  EXPECT_EQ(ledger.size(), 51U);
  EXPECT_EQ(curator.quit(), 0) << curator.transcript();
}

TEST_F(ZooKeeperBesideCurator, ThreeOfEachTakeTheirTurnsInTheOrderInWhichTheyCame) {
  constexpr std::size_t each = 3;
  std::vector<std::unique_ptr<Ours>> ours;
  std::vector<std::unique_ptr<CuratorContender>> theirs;
  std::vector<std::string> line;
  for (std::size_t i = 0; i < each; ++i) {
    ours.push_back(std::make_unique<Ours>(location, mutex, fmt::format("ours {}", i), ledger));
    theirs.push_back(
        std::make_unique<CuratorContender>(location, path, fmt::format("theirs {}", i)));
    ours.back()->start();
    line.push_back(ours.back()->id());
    ASSERT_TRUE(are_in_line(line));
    theirs.back()->start();
    line.push_back(theirs.back()->contender_id());
    ASSERT_TRUE(are_in_line(line));
  }
  testkit::RecordingRetriever observer{mutex};
  const auto observing = ours.front()->factory().create_mutex_retrieval_service(observer);
  observing->start();
  // One alone says that it leads. Those of ours that wait know who leads from their last look.
  const auto expect_leader = [&](const std::string& id) {
    for (auto& one : ours) {
      EXPECT_EQ(one->leads(), one->id() == id) << one->id() << " beside " << id;
    }
    for (auto& one : theirs) {
      EXPECT_EQ(one->leads(), one->contender_id() == id) << one->contender_id() << " beside " << id;
      EXPECT_EQ(one->leader(), id);
    }
    EXPECT_TRUE(observer.wait_for_owner(id, scaled(curator_promptly))) << observer.owner();
  };
  const auto to_the_end = [&] {
    std::rotate(line.begin(), line.begin() + 1, line.end());
    return are_in_line(line);
  };
  for (std::size_t lap = 1; lap <= 3; ++lap) {
    for (std::size_t i = 0; i < each; ++i) {
      ASSERT_TRUE(ours[i]->acquires(lap));
      expect_leader(ours[i]->id());
      ours[i]->stop();
      ASSERT_NO_FATAL_FAILURE(begin(*theirs[i]));
      ours[i]->start();
      ASSERT_TRUE(to_the_end());

      expect_leader(theirs[i]->contender_id());
      ASSERT_NO_FATAL_FAILURE(end(*theirs[i]));
      ASSERT_TRUE(ours[(i + 1) % each]->acquires(i + 1 == each ? lap + 1 : lap));
      theirs[i]->start();
      ASSERT_TRUE(to_the_end());
    }
  }
  EXPECT_EQ(ledger.size(), 3 * 2 * each + 1);
}

}  // namespace
}  // namespace simba::zookeeper::test
