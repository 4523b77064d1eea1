#include "sql/sql_store.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
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
  const auto store = make_store();
  const auto user = store->attach();
  const LeaseAnswer answer = acquire(*store, request);
  ASSERT_NE(answer.error(), nullptr);
  EXPECT_EQ(answer.error()->kind(), ErrorKind::in_doubt);
}

TEST_F(SqlStoreTest, ARenewalNamesTheVersionThatWasToldLastWhateverIsInDoubt) {
  const auto store = make_store();
  const auto user = store->attach();
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
  const auto user = store->attach();
  std::promise<engine::Notice> told;
  const auto watch =
      store->watch(request, [&](const engine::Notice& notice) { told.set_value(notice); });
  const engine::Notice notice = told.get_future().get();
  EXPECT_EQ(notice.kind, engine::Notice::Kind::changed);
  ASSERT_TRUE(notice.record);
  EXPECT_EQ(notice.record->owner_id, "");
  EXPECT_TRUE(notice.record->counted_from);
}

TEST_F(SqlStoreTest, ManyWatchesAreLookedAtInParts) {
  constexpr std::size_t count = 450;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::size_t> sizes;    // guarded by mutex
  std::map<std::string, int> looks;  // guarded by mutex
  bool counts = false;               // guarded by mutex
  database->on_look = [&](std::span<const std::string> mutexes) {
    const std::lock_guard lock{mutex};
    if (!counts || mutexes.size() == 1) return;  // the first look of a watch is for itself
    sizes.push_back(mutexes.size());
    for (const std::string& name : mutexes) ++looks[name];
    changed.notify_all();
  };
  const auto store =
      make_sql_store(database, {}, {.poll_interval = 10ms, .pause_per_mutex = 10us}, runtime);
  const auto user = store->attach();
  std::vector<std::unique_ptr<engine::Watch>> watches;
  for (std::size_t i = 0; i < count; ++i) {
    LeaseRequest watched = request;
    watched.mutex = "m" + std::to_string(i);
    watches.push_back(store->watch(watched, [](const engine::Notice&) {}));
  }
  std::unique_lock lock{mutex};
  counts = true;
  changed.wait(lock, [&] { return sizes.size() >= 12; });
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 250U);
  EXPECT_EQ(looks.size(), count) << "each is looked at";
  counts = false;
  lock.unlock();
  watches.clear();
}

// The looks are counted, not timed: as many as a round of all that are watched has.
TEST_F(SqlStoreTest, OneThatComesDuringARoundIsLookedAtNoLaterThanARoundAfterIts) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<std::string>> parts;  // guarded by mutex
  bool held = false;                            // guarded by mutex; a look waits
  database->on_look = [&](std::span<const std::string> mutexes) {
    if (mutexes.size() == 1) return;  // the first look of a watch is for itself
    std::unique_lock lock{mutex};
    parts.emplace_back(mutexes.begin(), mutexes.end());
    changed.notify_all();
    changed.wait(lock, [&] { return !held; });
  };
  const auto store = make_sql_store(database, {.pool_size = 2},
                                    {.poll_interval = 10ms, .pause_per_mutex = 10us}, runtime);
  const auto user = store->attach();
  std::vector<std::unique_ptr<engine::Watch>> watches;
  const auto watch = [&](const std::string& name) {
    LeaseRequest watched = request;
    watched.mutex = name;
    watches.push_back(store->watch(watched, [](const engine::Notice&) {}));
  };
  for (int i = 0; i < 1'000; ++i) watch("m" + std::to_string(i));

  // The first looks of many watches go together, and so look like parts.
  constexpr std::ptrdiff_t some = 8;
  {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] {
      return std::ssize(parts) > some && std::all_of(parts.end() - some, parts.end(),
                                                     [](auto& part) { return part.size() == 250; });
    });
    parts.clear();
  }

  const auto one_has = [&](std::size_t begin, std::size_t count, const std::string& name) {
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(begin);
    return std::any_of(first, first + static_cast<std::ptrdiff_t>(count), [&](const auto& part) {
      return std::find(part.begin(), part.end(), name) != part.end();
    });
  };
  constexpr std::size_t whole = 5;  // parts, of 1,001 to 1,004 that are watched
  for (int i = 0; i < 8; ++i) {     // at every place of a round
    const std::string name = "newcomer" + std::to_string(i);
    std::unique_lock lock{mutex};
    held = true;
    changed.wait(lock, [&, before = parts.size()] { return parts.size() > before; });
    const std::size_t begin = parts.size();
    lock.unlock();
    watch(name);
    if (i % 2 == 0) watches.erase(watches.begin() + 500);  // others go meanwhile
    lock.lock();
    held = false;
    changed.notify_all();
    changed.wait(lock, [&] { return parts.size() >= begin + whole; });
    EXPECT_TRUE(one_has(begin, whole, name)) << name;
  }
  const std::lock_guard lock{mutex};
  for (std::size_t begin = 0; begin + whole <= parts.size(); ++begin) {
    EXPECT_TRUE(one_has(begin, whole, "m0")) << "newcomers do not put off those that wait";
  }
  held = false;
}

TEST_F(SqlStoreTest, ARefusalOfEverythingDoesNotEndTheLooks) {
  std::mutex mutex;
  std::condition_variable changed;
  int refused = 0;       // guarded by mutex
  int looked = 0;        // guarded by mutex
  bool refuses = false;  // guarded by mutex
  database->on_look = [&](std::span<const std::string> mutexes) {
    const std::lock_guard lock{mutex};
    changed.notify_all();
    if (refuses) {
      ++refused;
      throw Error{ErrorKind::authentication, "the password has been changed"};
    }
    if (mutexes.size() == 2) ++looked;  // the first look of a watch is for itself
  };
  const auto store = make_sql_store(database, {}, {.poll_interval = 10ms}, runtime);
  const auto user = store->attach();
  LeaseRequest other = request;
  other.mutex = "n";
  const auto watch = store->watch(request, [](const engine::Notice&) {});
  const auto watch_of_other = store->watch(other, [](const engine::Notice&) {});
  std::unique_lock lock{mutex};
  changed.wait(lock, [&] { return looked > 0; });
  refuses = true;
  changed.wait(lock, [&] { return refused >= 5; });
  refuses = false;
  const int before = looked;
  EXPECT_TRUE(changed.wait_for(lock, 10s, [&] { return looked > before; }));
}

TEST_F(SqlStoreTest, TheWorstCaseCountsWhatIsWatched) {
  const auto store =
      make_sql_store(database, {}, {.poll_interval = 100ms, .pause_per_mutex = 1'000us}, runtime);
  const auto user = store->attach();
  const ContentionPlan plan{ContentionOptions{}};
  std::vector<std::unique_ptr<engine::Watch>> watches;
  const auto with = [&](std::size_t count) {
    while (watches.size() < count) {
      LeaseRequest watched = request;
      watched.mutex = "m" + std::to_string(watches.size());
      watches.push_back(store->watch(watched, [](const engine::Notice&) {}));
    }
    return store->worst_cases(plan).hand_over_without_notice - plan.request_timeout;
  };
  EXPECT_EQ(with(0), 100ms);
  EXPECT_EQ(with(20), 100ms);
  EXPECT_EQ(with(200), 200ms);
  EXPECT_EQ(with(300), 500ms) << "a round of two parts of 250";
}

TEST_F(SqlStoreTest, TheWorstCaseTellsHowOftenWaitersLookWhereThereAreNoHints) {
  const ContentionPlan plan{ContentionOptions{}};
  const auto with_pause = [&](std::chrono::microseconds pause) {
    return make_sql_store(database, {}, {.poll_interval = 100ms, .pause_per_mutex = pause}, runtime)
        ->worst_cases(plan)
        .looks;
  };
  EXPECT_EQ(with_pause(0us), std::nullopt);
  EXPECT_EQ(with_pause(1'000us), (LookRate{.interval = 100ms, .mutexes = 250, .per = 250ms}));
}

TEST_F(SqlStoreTest, AWriteOfARecordThatARenewalOvertakesGoesAgainUnderTheNewVersion) {
  const auto store = make_store();
  const auto user = store->attach();
  LeaseRequest owner = request;
  owner.instance = 1;
  std::atomic<FencingToken> version{1};
  database->on_change = [&](Change, std::span<const Ask> asks) {
    std::vector<Row> rows = FakeDatabase::grant(Change::acquire, asks);
    rows.front().version = version;
    return rows;
  };
  acquire(*store, owner);
  std::vector<FencingToken> tried;
  database->on_write = [&](const RecordAsk& ask) {
    tried.push_back(ask.owner->greatest);
    if (tried.size() > 1) {
      return RecordAnswer{.outcome = RecordAnswer::Outcome::written, .record = {.version = 1}};
    }
    version = 2;
    std::promise<void> renewed;
    store->guard(owner, [&](const LeaseAnswer&) { renewed.set_value(); });
    renewed.get_future().wait();
    return RecordAnswer{.outcome = RecordAnswer::Outcome::not_owned};
  };
  std::promise<RecordResult> result;
  store->records()->write(
      {.mutex = "m", .text = "x", .owner = RecordOwner{.contender_id = "me", .fencing_token = 1}},
      [&](const RecordResult& got) { result.set_value(got); });
  const RecordResult got = result.get_future().get();
  EXPECT_EQ(std::get<RecordAnswer>(got).outcome, RecordAnswer::Outcome::written);
  EXPECT_EQ(tried, (std::vector<FencingToken>{1, 2}));
}

TEST_F(SqlStoreTest, ReadsOfManyRecordsGoTogether) {
  const auto store = make_store();
  const auto user = store->attach();
  std::promise<void> connected;
  std::shared_future<void> go = connected.get_future().share();
  database->on_connect = [go] { go.wait(); };
  constexpr int many = 100;
  std::atomic<int> right{0};
  std::promise<void> all;
  for (int i = 0; i < many; ++i) {
    const std::string mutex = std::to_string(i);
    store->records()->read(mutex, [&, mutex](const RecordResult& result) {
      if (std::get<RecordAnswer>(result).record.text != "of " + mutex) ADD_FAILURE() << mutex;
      if (++right == many) all.set_value();
    });
  }
  connected.set_value();
  all.get_future().wait();
  EXPECT_EQ(database->statements(), std::vector<std::size_t>{many});
}

}  // namespace
}  // namespace simba::sql
