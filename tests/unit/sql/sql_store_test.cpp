#include "sql/sql_store.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fake_database.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"
#include "unit/core/own_threads.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;
using engine::LeaseAnswer;
using engine::LeaseRequest;

struct SqlStoreTest : testing::Test {
  std::shared_ptr<engine::LeaseStore> make_store() {
    return make_sql_store(database, {}, {}, runtime);
  }

  static LeaseAnswer acquire(engine::LeaseStore& store, const LeaseRequest& request) {
    auto promise = std::make_shared<std::promise<LeaseAnswer>>();
    store.acquire(request,
                  [promise](LeaseAnswer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future().get();
  }

  static auto threads() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  }

  const std::shared_ptr<FakeDatabase> database = std::make_shared<FakeDatabase>();
  const std::shared_ptr<const Runtime> runtime = make_runtime();
  const LeaseRequest request{.mutex = "m", .contender_id = "me", .ttl = 10s, .transition = 6s};
};

TEST_F(SqlStoreTest, RefusesNamesOutOfBoundsWithoutAskingTheDatabase) {
  const auto store = make_store();
  const auto refused = [&](const std::string& mutex, const std::string& contender) {
    LeaseRequest wrong = request;
    wrong.mutex = mutex;
    wrong.contender_id = contender;
    const LeaseAnswer answer = acquire(*store, wrong);
    return answer.error() != nullptr && answer.error()->kind() == ErrorKind::invalid_argument;
  };
  EXPECT_TRUE(refused("", "me"));
  EXPECT_TRUE(refused("m", ""));
  EXPECT_TRUE(refused(std::string(67, 'x'), "me"));
  EXPECT_TRUE(refused("m", std::string(129, 'x')));
  EXPECT_TRUE(refused(std::string("a\0b", 3), "me"));
  EXPECT_EQ(database->connects, 0);
}

TEST_F(SqlStoreTest, ThreadsEndWithTheLastUserAndBeginAgainWithTheNext) {
  const auto store = make_store();
  const auto before = threads();
  auto user = store->attach();
  auto another = store->attach();
  acquire(*store, request);
  const auto watch = store->watch(request, [](const auto&) {});
  EXPECT_GT(threads(), before);
  user.reset();
  EXPECT_GT(threads(), before);
  another.reset();
  EXPECT_TRUE(test::eventually([&] { return threads() == before; }));
  EXPECT_NE(acquire(*store, request).error(), nullptr);
  user = store->attach();
  EXPECT_NE(acquire(*store, request).record(), nullptr);
}

TEST_F(SqlStoreTest, ARequestStillUnderWayFailsWhenTheLastUserLeaves) {
  const auto store = make_store();
  std::promise<void> entered;
  database->before_change = [&](const Wakeup& closing, std::span<const Ask>) {
    entered.set_value();
    wait_for(closing, real_now() + 60s);
    throw Error{ErrorKind::unavailable, "closing"};
  };
  auto user = store->attach();
  std::promise<LeaseAnswer> answer;
  store->acquire(request, [&](LeaseAnswer got) { answer.set_value(std::move(got)); });
  entered.get_future().wait();
  user.reset();
  EXPECT_NE(answer.get_future().get().error(), nullptr);
}

TEST_F(SqlStoreTest, AnAcquisitionThatIsLeftOutOfTheAnswerIsInDoubt) {
  database->on_change = [](Change, std::span<const Ask>) { return std::vector<Row>{}; };
  const LeaseAnswer answer = acquire(*make_store(), request);
  ASSERT_NE(answer.error(), nullptr);
  EXPECT_EQ(answer.error()->kind(), ErrorKind::in_doubt);
}

TEST_F(SqlStoreTest, ARenewalNamesTheVersionThatWasToldLastWhateverIsInDoubt) {
  const auto store = make_store();
  LeaseRequest ours = request;
  ours.instance = 1;
  std::vector<std::optional<FencingToken>> named;
  bool breaks = false;
  database->on_change = [&](Change change, std::span<const Ask> asks) {
    if (change == Change::guard) named.push_back(asks.front().version);
    if (breaks) throw Error{ErrorKind::in_doubt, "cut"};
    auto rows = FakeDatabase::grant(change, asks);
    rows.front().version = 4 + named.size();
    return rows;
  };
  const auto guard = [&] {
    std::promise<LeaseAnswer> promise;
    store->guard(ours, [&](LeaseAnswer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  };
  acquire(*store, ours);
  guard();
  breaks = true;
  guard();
  guard();
  breaks = false;
  guard();
  EXPECT_EQ(named, (std::vector<std::optional<FencingToken>>{4, 5, 5, 5}));
}

TEST_F(SqlStoreTest, AWatchBeginsWithANoticeOfThePresentState) {
  const auto store = make_store();
  std::promise<engine::Notice> told;
  const auto watch =
      store->watch(request, [&](const engine::Notice& notice) { told.set_value(notice); });
  const engine::Notice notice = told.get_future().get();
  EXPECT_EQ(notice.kind, engine::Notice::Kind::changed);
  ASSERT_TRUE(notice.record);
  EXPECT_EQ(notice.record->owner_id, "");
  EXPECT_TRUE(notice.record->counted_from);
}

}  // namespace
}  // namespace simba::sql
