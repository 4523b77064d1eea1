// What the store makes of requests about records, answer by answer.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/zookeeper/store_fixture.hpp"

namespace simba::zookeeper {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Outcome = RecordAnswer::Outcome;

class ZooKeeperRecords : public StoreFixture {
 protected:
  static constexpr auto record_path = "/simba/simba:records/m";
  using Results = std::vector<RecordResult>;

  std::shared_ptr<Results> read() {
    auto results = std::make_shared<Results>();
    store->records()->read("m", [results](const RecordResult& it) { results->push_back(it); });
    return results;
  }
  std::shared_ptr<Results> write(const RecordWrite& write) {
    auto results = std::make_shared<Results>();
    store->records()->write(write, [results](const RecordResult& it) { results->push_back(it); });
    return results;
  }
  static RecordWrite by_owner(std::uint64_t replaces, FencingToken token = 100) {
    return {.mutex = "m",
            .text = "new",
            .replaces = replaces,
            .owner = RecordOwner{.contender_id = "me", .fencing_token = token}};
  }

  /// A connection, on which nothing is under way.
  void connected() {
    own();
    client().requests.clear();
  }

  /// Answers what a request looks at: the record, and the owner's node where it is asked for.
  void show_record(std::int32_t version, const std::string& text = "old") {
    take("sync").done(Code::ok);
    const Request get = take("get");
    EXPECT_EQ(get.path, record_path);
    NodeStat stat;
    stat.version = version;
    get.created(version < 0 ? Code::no_node : Code::ok, version < 0 ? "" : text, stat);
  }
  void show_owner(std::int64_t zxid, const std::string& id = "me") {
    take("children").listed(Code::ok, {"a-latch-0000000002", "b-latch-0000000001"});
    const Request get = take("get");
    EXPECT_EQ(get.path, "/simba/m/b-latch-0000000001");
    get.created(Code::ok, id, stat(zxid));
  }

  static const RecordAnswer& answer(const std::shared_ptr<Results>& results) {
    return std::get<RecordAnswer>(results->at(0));
  }
  static ErrorKind error(const std::shared_ptr<Results>& results) {
    return std::get<Error>(results->at(0)).kind();
  }
};

TEST_F(ZooKeeperRecords, AReadLooksAfterASync) {
  connected();
  const auto results = read();
  EXPECT_EQ(client().requests.front().verb, "sync");
  show_record(4);
  EXPECT_EQ(answer(results).outcome, Outcome::found);
  EXPECT_EQ(answer(results).record.version, 5U);
  EXPECT_EQ(answer(results).record.text, "old");
  EXPECT_EQ(answer(results).record.now,
            std::chrono::floor<std::chrono::milliseconds>(world.runtime()->clock->wall_now()));
}

TEST_F(ZooKeeperRecords, AWriteOfTheOwnerIsConditionalOnItsNodeAndOnTheVersion) {
  connected();
  const auto results = write(by_owner(5));
  show_record(4);
  show_owner(100);
  const Request sent = take("write");
  EXPECT_EQ(sent.path, record_path);
  EXPECT_EQ(sent.write.provided, "/simba/m/b-latch-0000000001");
  EXPECT_EQ(sent.write.replaces, 4);
  EXPECT_EQ(sent.write.data, "new");
  sent.done(Code::ok);
  EXPECT_EQ(answer(results).outcome, Outcome::written);
  EXPECT_EQ(answer(results).record.version, 6U);
  EXPECT_EQ(answer(results).record.text, "new");
}

TEST_F(ZooKeeperRecords, WhoIsNotTheFirstOrHasAnotherTokenWritesNothing) {
  connected();
  const auto other = write(by_owner(5));
  show_record(4);
  show_owner(100, "another");
  EXPECT_EQ(answer(other).outcome, Outcome::not_owned);
  const auto former = write(by_owner(5, 99));
  show_record(4);
  show_owner(100);
  EXPECT_EQ(answer(former).outcome, Outcome::not_owned);
  EXPECT_FALSE(sent("write"));
}

TEST_F(ZooKeeperRecords, AnOwnerThatGoesBeforeTheWriteIsNotTheOwnerAnyMore) {
  connected();
  const auto results = write(by_owner(5));
  show_record(4);
  show_owner(100);
  take("write").done(Code::no_node);
  EXPECT_THAT(*results, IsEmpty()) << "it looks again";
  show_record(4);
  take("children").listed(Code::ok, {"a-latch-0000000002"});
  take("get").created(Code::ok, "another", stat(101));
  EXPECT_EQ(answer(results).outcome, Outcome::not_owned);
}

TEST_F(ZooKeeperRecords, AVersionThatChangesBeforeTheWriteIsAnsweredWithTheNewRecord) {
  connected();
  const auto results = write({.mutex = "m", .text = "new", .replaces = 5});
  show_record(4);
  take("write").done(Code::bad_version);
  show_record(5, "of another");
  EXPECT_EQ(answer(results).outcome, Outcome::changed);
  EXPECT_EQ(answer(results).record.version, 6U);
  EXPECT_EQ(answer(results).record.text, "of another");
}

TEST_F(ZooKeeperRecords, TheFirstWriteCreatesTheNodeAndItsParents) {
  connected();
  const auto results = write({.mutex = "m", .text = "new"});
  show_record(-1);
  const Request first = take("write");
  EXPECT_FALSE(first.write.replaces);
  first.done(Code::no_node);
  const Request base = take("create");
  EXPECT_EQ(base.path, "/simba");
  base.created(Code::node_exists, {}, {});
  const Request parent = take("create");
  EXPECT_EQ(parent.path, "/simba/simba:records");
  parent.created(Code::ok, parent.path, {});
  take("sync").done(Code::ok);
  show_record(-1);
  take("write").done(Code::ok);
  EXPECT_EQ(answer(results).outcome, Outcome::written);
  EXPECT_EQ(answer(results).record.version, 1U);
}

TEST_F(ZooKeeperRecords, OneThatIsCreatedByAnotherMeanwhileHasChanged) {
  connected();
  const auto results = write({.mutex = "m", .text = "new"});
  show_record(-1);
  take("write").done(Code::node_exists);
  show_record(0, "of another");
  EXPECT_EQ(answer(results).outcome, Outcome::changed);
  EXPECT_EQ(answer(results).record.version, 1U);
}

TEST_F(ZooKeeperRecords, AParentThatMayNotBeCreatedIsAnErrorThatNamesIt) {
  connected();
  const auto results = write({.mutex = "m", .text = "new"});
  show_record(-1);
  take("write").done(Code::no_node);
  take("create").created(Code::no_auth, {}, {});
  take("create").created(Code::no_auth, {}, {});
  take("sync").done(Code::ok);
  show_record(-1);
  take("write").done(Code::no_node);
  take("create").created(Code::no_auth, {}, {});
  ASSERT_THAT(*results, SizeIs(1));
  EXPECT_EQ(error(results), ErrorKind::permission);
  EXPECT_THAT(std::get<Error>(results->at(0)).what(), HasSubstr("[/simba/simba:records]"));
}

TEST_F(ZooKeeperRecords, AWriteBeforeItsTimeIsTooEarlyByTheClockOfThisHost) {
  connected();
  const SystemTime now =
      std::chrono::floor<std::chrono::milliseconds>(world.runtime()->clock->wall_now());
  const auto early = write({.mutex = "m", .text = "new", .replaces = 5, .not_before = now + 1ms});
  show_record(4);
  EXPECT_EQ(answer(early).outcome, Outcome::too_early);
  EXPECT_EQ(answer(early).record.now, now);
  write({.mutex = "m", .text = "new", .replaces = 5, .not_before = now});
  show_record(4);
  EXPECT_TRUE(sent("write"));
}

TEST_F(ZooKeeperRecords, AConnectionLostDuringTheWriteLeavesItInDoubt) {
  connected();
  const auto results = write(by_owner(5));
  show_record(4);
  show_owner(100);
  disconnect();
  ASSERT_THAT(*results, SizeIs(1));
  EXPECT_EQ(error(results), ErrorKind::in_doubt);
}

TEST_F(ZooKeeperRecords, AConnectionLostBeforeTheWriteLeavesNothingInDoubt) {
  connected();
  const auto results = write(by_owner(5));
  show_record(4);
  disconnect();
  ASSERT_THAT(*results, SizeIs(1));
  EXPECT_EQ(error(results), ErrorKind::unavailable);
  EXPECT_EQ(error(read()), ErrorKind::unavailable) << "not connected";
}

TEST_F(ZooKeeperRecords, AreAnsweredOnceWhereTheSessionEndsAndTheAnswerComesLate) {
  connected();
  const auto results = write(by_owner(5));
  show_record(4);
  show_owner(100);
  const Request late = take("write");
  world.advance(1s);
  client().tell(Expired{});
  ASSERT_THAT(*results, SizeIs(1));
  EXPECT_EQ(error(results), ErrorKind::in_doubt);
  late.done(Code::ok);
  EXPECT_THAT(*results, SizeIs(1));
}

TEST_F(ZooKeeperRecords, AreAnsweredWhereTheStoreIsClosed) {
  connected();
  const auto under_way = write(by_owner(5));
  show_record(4);
  show_owner(100);
  const auto looking = read();
  attachment.reset();
  ASSERT_THAT(*under_way, SizeIs(1));
  EXPECT_EQ(error(under_way), ErrorKind::in_doubt);
  ASSERT_THAT(*looking, SizeIs(1));
  EXPECT_EQ(error(looking), ErrorKind::unavailable);
  EXPECT_EQ(error(read()), ErrorKind::unavailable);
}

TEST_F(ZooKeeperRecords, MayNotBeReadWithoutThePermission) {
  connected();
  const auto results = read();
  take("sync").done(Code::ok);
  take("get").created(Code::no_auth, {}, {});
  EXPECT_EQ(error(results), ErrorKind::permission);
}

TEST_F(ZooKeeperRecords, TheNodeThatHoldsThemIsNoMutex) {
  EXPECT_THROW(store->check_names("simba:records", "me"), InvalidArgumentError);
}

}  // namespace
}  // namespace simba::zookeeper
