#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/zookeeper/client_peer.hpp"
#include "support/location.hpp"

namespace simba::zookeeper::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// A node of its own for each test.
class ZooKeeperClient : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(peer.connects());
    ASSERT_EQ(code_of(peer.create(top)), Code::ok);
  }

  const Settings settings = settings_of(support::zookeeper_location());
  const std::string top =
      fmt::format("/{}-{}-{}", testing::UnitTest::GetInstance()->current_test_info()->name(),
                  ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
  Peer peer{settings};
};

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder}, {}));
}

std::size_t threads() { return entries_of("/proc/self/task"); }
std::size_t descriptors() { return entries_of("/proc/self/fd"); }

TEST_F(ZooKeeperClient, TellsOfItsSession) {
  const auto connected = peer.last<Connected>();
  EXPECT_NE(connected.session, 0);
  EXPECT_EQ(connected.timeout, settings.session_timeout);
}

TEST_F(ZooKeeperClient, CreatesReadsListsAndRemovesNodes) {
  const std::string data{"a\0\xFF", 3};
  const Answer created = wait(peer.create(top + "/a", data));
  EXPECT_EQ(created.code, Code::ok);
  EXPECT_EQ(created.text, top + "/a");
  EXPECT_GT(created.stat.created_zxid, 0);
  EXPECT_EQ(created.stat.session, 0);

  const Answer read = wait(peer.get(top + "/a"));
  EXPECT_EQ(read.text, data);
  EXPECT_EQ(read.stat.created_zxid, created.stat.created_zxid);
  EXPECT_EQ(read.stat.created_at, created.stat.created_at);
  EXPECT_EQ(wait(peer.exists(top + "/a")).stat.created_zxid, created.stat.created_zxid);

  EXPECT_EQ(code_of(peer.create(top + "/b")), Code::ok);
  EXPECT_EQ(wait(peer.get(top + "/b")).text, "");
  EXPECT_THAT(wait(peer.children(top)).names, UnorderedElementsAre("a", "b"));
  EXPECT_EQ(code_of(peer.remove(top + "/a")), Code::ok);
  EXPECT_THAT(wait(peer.children(top)).names, ElementsAre("b"));
  EXPECT_EQ(code_of(peer.sync()), Code::ok);
}

TEST_F(ZooKeeperClient, WritesOnConditionOfTheVersionAndOfAnotherNode) {
  const std::string path = top + "/record";
  const std::string owner = top + "/owner";
  ASSERT_EQ(code_of(peer.create(owner)), Code::ok);
  const std::string data{"a\0\xFF", 3};
  EXPECT_EQ(code_of(peer.write({.path = path, .data = "x", .replaces = 0})), Code::no_node);
  EXPECT_EQ(code_of(peer.write({.path = path, .data = data, .provided = owner})), Code::ok);
  EXPECT_EQ(code_of(peer.write({.path = path, .data = "x"})), Code::node_exists);
  EXPECT_EQ(wait(peer.get(path)).text, data);
  EXPECT_EQ(wait(peer.get(path)).stat.version, 0);
  EXPECT_EQ(code_of(peer.write({.path = path, .data = "x", .replaces = 1})), Code::bad_version);
  EXPECT_EQ(code_of(peer.write({.path = path, .data = "y", .replaces = 0, .provided = owner})),
            Code::ok);
  EXPECT_EQ(wait(peer.get(path)).stat.version, 1);
  ASSERT_EQ(code_of(peer.remove(owner)), Code::ok);
  EXPECT_EQ(code_of(peer.write({.path = path, .data = "z", .replaces = 1, .provided = owner})),
            Code::no_node);
  EXPECT_EQ(code_of(peer.write({.path = top + "/no/parent", .data = "z"})), Code::no_node);
  EXPECT_EQ(wait(peer.get(path)).text, "y");
}

TEST_F(ZooKeeperClient, AWriteThatIsUnderWayWhenTheSessionIsClosedIsAnswered) {
  std::vector<Peer::Future> futures;
  for (int i = 0; i < 100; ++i) {
    futures.push_back(peer.write({.path = top + "/" + std::to_string(i), .data = "x"}));
  }
  peer.client->close();
  for (auto& future : futures) {
    EXPECT_THAT(code_of(std::move(future)), testing::AnyOf(Code::ok, Code::closing));
  }
}

TEST_F(ZooKeeperClient, SaysWhyARequestFails) {
  EXPECT_EQ(code_of(peer.create(top)), Code::node_exists);
  EXPECT_EQ(code_of(peer.create(top + "/no/parent")), Code::no_node);
  EXPECT_EQ(code_of(peer.get(top + "/none")), Code::no_node);
  EXPECT_EQ(code_of(peer.exists(top + "/none")), Code::no_node);
  EXPECT_EQ(code_of(peer.children(top + "/none")), Code::no_node);
  EXPECT_EQ(code_of(peer.remove(top + "/none")), Code::no_node);
  EXPECT_EQ(code_of(peer.create(top + "/a")), Code::ok);
  EXPECT_EQ(code_of(peer.remove(top)), Code::refused);  // it has a child
  EXPECT_EQ(code_of(peer.get("not a path")), Code::refused);
}

TEST_F(ZooKeeperClient, GivesAnEphemeralNodeANumberAndItsSession) {
  const auto kind = NodeKind::ephemeral_sequential;
  const Answer first = wait(peer.create(top + "/latch-", "me", kind));
  EXPECT_EQ(first.text, top + "/latch-0000000000");
  EXPECT_EQ(first.stat.session, peer.last<Connected>().session);
  const Answer second = wait(peer.create(top + "/latch-", "me", kind));
  EXPECT_EQ(second.text, top + "/latch-0000000001");
  EXPECT_GT(second.stat.created_zxid, first.stat.created_zxid);
}

TEST_F(ZooKeeperClient, CreatesContainersThatBelongToNobody) {
  const Answer created = wait(peer.create(top + "/c", "", NodeKind::container));
  EXPECT_EQ(created.code, Code::ok);
  EXPECT_EQ(created.stat.session, 0);
  EXPECT_EQ(wait(peer.get(top + "/c")).stat.session, 0);
  EXPECT_EQ(code_of(peer.create(top + "/c/child")), Code::ok);
}

TEST_F(ZooKeeperClient, WatchTellsOnce) {
  Peer other{settings};
  EXPECT_THAT(wait(peer.children(top, Watching::yes)).names, IsEmpty());
  EXPECT_EQ(code_of(peer.exists(top + "/a", Watching::yes)), Code::no_node);
  EXPECT_EQ(code_of(peer.get(top + "/b", Watching::yes)), Code::no_node);  // leaves none
  ASSERT_TRUE(other.connects());

  EXPECT_EQ(code_of(other.create(top + "/a")), Code::ok);
  EXPECT_EQ(code_of(other.create(top + "/b")), Code::ok);
  ASSERT_TRUE(support::eventually([&] { return peer.events().size() == 3; }));
  EXPECT_THAT(peer.events(),
              UnorderedElementsAre("connected", "created " + top + "/a", "children " + top));

  EXPECT_EQ(code_of(peer.get(top + "/a", Watching::yes)), Code::ok);
  EXPECT_EQ(code_of(other.remove(top + "/a")), Code::ok);
  EXPECT_TRUE(support::eventually([&] { return peer.events().size() == 4; }));
  EXPECT_EQ(peer.events().back(), "removed " + top + "/a");
  EXPECT_EQ(code_of(peer.sync()), Code::ok);  // nothing else was on its way
  EXPECT_THAT(peer.events(), SizeIs(4));
}

TEST_F(ZooKeeperClient, AnswersInOrder) {
  std::vector<int> order;
  for (int i = 0; i < 1'000; ++i) {
    peer.client->exists(top, Watching::no,
                        [&order, i](Code /*code*/, const NodeStat&) { order.push_back(i); });
  }
  EXPECT_EQ(code_of(peer.sync()), Code::ok);
  EXPECT_THAT(order, SizeIs(1'000));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(ZooKeeperClient, LetsNobodyElseNearItsNodesWhereTheAclSaysSo) {
  Peer owner{with_user(settings, "owner", NodeAcl::creator)};
  Peer open{with_user(settings, "owner", NodeAcl::creator_others_read)};
  Peer same{with_user(settings, "owner", NodeAcl::open)};
  Peer other{with_user(settings, "other", NodeAcl::open)};
  for (const Peer* each : {&owner, &open, &same, &other}) ASSERT_TRUE(each->connects());

  EXPECT_EQ(code_of(owner.create(top + "/closed")), Code::ok);
  EXPECT_EQ(code_of(open.create(top + "/shown")), Code::ok);
  EXPECT_EQ(code_of(owner.write({.path = top + "/record", .data = "x"})), Code::ok);
  for (Peer* each : {&peer, &other}) {
    EXPECT_EQ(code_of(each->get(top + "/closed")), Code::no_auth);
    EXPECT_EQ(code_of(each->children(top + "/closed")), Code::no_auth);
    EXPECT_EQ(code_of(each->get(top + "/record")), Code::no_auth);
    EXPECT_EQ(code_of(each->write({.path = top + "/record", .data = "y", .replaces = 0})),
              Code::no_auth);
    EXPECT_EQ(code_of(each->get(top + "/shown")), Code::ok);
    EXPECT_EQ(code_of(each->create(top + "/shown/child")), Code::no_auth);
  }
  EXPECT_EQ(code_of(same.get(top + "/closed")), Code::ok);
  EXPECT_EQ(code_of(same.create(top + "/shown/child")), Code::ok);
}

TEST_F(ZooKeeperClient, EndsItsSessionWhenItIsDestroyed) {
  Peer other{settings};
  ASSERT_TRUE(other.connects());
  EXPECT_EQ(code_of(other.create(top + "/e", "", NodeKind::ephemeral_sequential)), Code::ok);
  EXPECT_THAT(wait(peer.children(top)).names, SizeIs(1));
  other.client.reset();
  other.connector->wait_until_closed();
  EXPECT_THAT(wait(peer.children(top)).names, IsEmpty());  // at once, not by time
}

TEST_F(ZooKeeperClient, MayBeUsedAndClosedInItsHandlers) {
  const auto connector = make_c_connector(settings, make_runtime({.log = make_null_logger()}));
  std::shared_ptr<Client> client;
  std::mutex mutex;
  std::atomic<int> after_close = 0;
  {
    const std::lock_guard lock{mutex};
    client = connector->connect([&](const ClientEvent&) {
      const std::lock_guard inner{mutex};
      client->get(top, Watching::no, [&](Code code, const std::string&, const NodeStat&) {
        EXPECT_EQ(code, Code::ok);
        client->close();
        client->sync([&](Code closed) {
          EXPECT_EQ(closed, Code::closing);
          ++after_close;
        });
      });
    });
  }
  EXPECT_TRUE(support::eventually([&] { return after_close == 1; }));
  connector->wait_until_closed();
}

TEST_F(ZooKeeperClient, HoldsThreadsAndDescriptorsOnlyWhileItIsOpen) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  const auto connector = make_c_connector(settings, runtime);
  const auto threads_before = threads();
  const auto descriptors_before = descriptors();
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> told = false;
    const auto client = connector->connect([&](const ClientEvent&) { told = true; });
    // Some are closed while they open.
    if (i % 4 != 0) {
      ASSERT_TRUE(support::eventually([&] { return told.load(); }));
      ASSERT_TRUE(support::eventually([&] { return threads() == threads_before + 2; }))
          << "the two of the library";
    }
    client->close();
    if (i % 3 == 0) connector->wait_until_closed();
  }
  connector->wait_until_closed();
  // One that was joined leaves /proc a little later.
  EXPECT_TRUE(support::eventually([&] { return threads() == threads_before; }));
  EXPECT_EQ(descriptors(), descriptors_before);
}

TEST_F(ZooKeeperClient, IsOfNoUseInAForkedChildAndUnharmedByIt) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int answered = 0;
    peer.client->get(top, Watching::no, [&](Code code, const std::string&, const NodeStat&) {
      answered = code == Code::closing ? 1 : 0;
    });
    peer.client->close();
    peer.client.reset();
    peer.connector->wait_until_closed();
    peer.connector.reset();
    ::_exit(answered == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(code_of(peer.sync()), Code::ok);
  EXPECT_THAT(peer.events(), ElementsAre("connected"));
}

TEST_F(ZooKeeperClient, AHandlerThatForksLeavesAChildThatEnds) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not survive the end of a thread in a forked child";
#endif
  std::promise<pid_t> forked;
  peer.client->sync([&](Code) {
    const pid_t child = ::fork();
    if (child != 0) forked.set_value(child);
  });
  const pid_t child = forked.get_future().get();
  ASSERT_GE(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(code_of(peer.sync()), Code::ok);
}

}  // namespace
}  // namespace simba::zookeeper::test
