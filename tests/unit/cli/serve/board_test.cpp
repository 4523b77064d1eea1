// What the board of `simba serve` makes of looks at a store.
#include "cli/serve/board.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::cli::serve {
namespace {

using namespace std::chrono_literals;
using engine::MutexEntry;
using testing::ElementsAre;
using testing::IsEmpty;

MutexEntry owned(const std::string& mutex, const std::string& owner, FencingToken token,
                 std::chrono::milliseconds left = 10s) {
  return {.mutex = mutex, .owner_id = owner, .fencing_token = token, .left = left};
}

MutexEntry free(const std::string& mutex, FencingToken token = 0) {
  return {.mutex = mutex, .fencing_token = token, .left = 0ms};
}

struct BoardTest : testing::Test {
  /// A look that takes no time, one second after the last unless told otherwise.
  void look(std::vector<MutexEntry> entries, std::chrono::milliseconds after = 1s) {
    now += after;
    board.looked({.asked = now, .answered = now, .entries = std::move(entries)});
  }

  std::optional<Json> since(std::uint64_t revision) const {
    const auto text = board.since(revision);
    if (!text) return std::nullopt;
    return Json::parse("{" + *text + "}");
  }

  Json mutex(const std::string& name) const { return board.mutex(name).value_or(Json::object()); }

  std::string last_change(const std::string& name) const {
    return mutex(name).at("last_change").at("what").get<std::string>();
  }

  /// Of all changes that are remembered.
  std::vector<std::string> changes() const {
    std::vector<std::string> all;
    for (const Json& change : board.changes(100)) all.push_back(change.at("what"));
    return all;
  }

  Board board{{.history = 5}};
  WallTime now{1'700'000'000'000ms};
};

TEST_F(BoardTest, ShowsAtFirstWhatIsThereAndTakesItForNoChange) {
  look({owned("a", "ann", 7), free("b")});
  EXPECT_EQ(mutex("a").at("owner"), "ann");
  EXPECT_EQ(mutex("a").at("token"), 7);
  EXPECT_EQ(mutex("a").at("owned_before"), true);
  EXPECT_EQ(mutex("b").at("owner"), nullptr);
  EXPECT_EQ(last_change("a"), "seen");
  EXPECT_THAT(changes(), IsEmpty());
  EXPECT_FALSE(board.mutex("c"));
}

TEST_F(BoardTest, TellsHowAMutexChangedHands) {
  look({free("a")});
  look({owned("a", "ann", 1)});
  EXPECT_EQ(last_change("a"), "acquired");
  look({free("a", 1)});
  EXPECT_EQ(last_change("a"), "released");
  look({owned("a", "ann", 2)});
  look({owned("a", "bob", 3)});
  EXPECT_EQ(last_change("a"), "handed_over");
  EXPECT_EQ(mutex("a").at("last_change").at("before"), "ann");
  look({owned("a", "cid", 4)}, 11s);
  EXPECT_EQ(last_change("a"), "taken_over");
  look({free("a", 4)}, 11s);
  EXPECT_EQ(last_change("a"), "expired");
}

TEST_F(BoardTest, PutsAChangeDownToTheForceThatWasUsedOnThatOwnerAlone) {
  look({owned("a", "ann", 1), owned("b", "ann", 1)});
  board.forced("a", "ann");
  board.forced("b", "eve");
  look({owned("a", "bob", 2), free("b", 1)});
  EXPECT_EQ(last_change("a"), "forced");
  EXPECT_EQ(last_change("b"), "released");
  look({free("a", 2)});
  EXPECT_EQ(last_change("a"), "released");
}

TEST_F(BoardTest, ALookThatShowsNothingNewIsNoRevision) {
  look({owned("a", "ann", 1)});
  const auto revision = board.revision();
  look({owned("a", "ann", 1, 9s)});
  EXPECT_EQ(board.revision(), revision);
}

TEST_F(BoardTest, ARenewalIsSentAsALeaseAndNotAsAChange) {
  look({owned("a", "ann", 1), free("b")});
  const auto revision = board.revision();
  look({owned("a", "ann", 2, 10s), free("b")}, 3s);
  const auto news = since(revision);
  ASSERT_TRUE(news);
  EXPECT_THAT(news->at("mutexes"), IsEmpty());
  EXPECT_THAT(news->at("changes"), IsEmpty());
  const Json& lease = news->at("leases").at(0);
  EXPECT_EQ(lease.at(0), mutex("a").at("id"));
  EXPECT_EQ(lease.at(1), (now + 10s).time_since_epoch().count());
  EXPECT_EQ(lease.at(2), 2);
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(BoardTest, TellsAReaderAllThatItHasMissed) {
  look({free("a"), free("b"), free("c")});
  const auto revision = board.revision();
  look({owned("a", "ann", 1), free("b"), free("c")});
  look({free("a", 1), free("c")});
  const auto news = since(revision);
  ASSERT_TRUE(news);
  ASSERT_EQ(news->at("mutexes").size(), 1U);
  EXPECT_EQ(news->at("mutexes").at(0).at("mutex"), "a");
  EXPECT_EQ(news->at("removed").size(), 1U);
  EXPECT_EQ(news->at("changes").size(), 3U);
  EXPECT_EQ(news->at("changes").at(2).at("what"), "removed");
  EXPECT_THAT(since(board.revision())->at("mutexes"), IsEmpty());
}

TEST_F(BoardTest, AReaderThatHasMissedTooMuchBeginsAgain) {
  look({free("a")});
  const auto revision = board.revision();
  for (FencingToken token = 1; token <= 6; ++token) {
    look({token % 2 == 1 ? owned("a", "ann", token) : free("a", token)});
  }
  EXPECT_FALSE(since(revision));
  EXPECT_TRUE(since(board.revision() - 1));
  EXPECT_FALSE(since(board.revision() + 1)) << "of another server";
}

TEST_F(BoardTest, RemembersTheLastChangesAndSinceWhen) {
  look({free("a")});
  const WallTime first = now;
  EXPECT_EQ(board.history_from(), first);
  for (FencingToken token = 1; token <= 8; ++token) {
    look({token % 2 == 1 ? owned("a", "ann", token) : free("a", token)});
  }
  EXPECT_EQ(board.changes(100).size(), 5U);
  EXPECT_EQ(board.changes(2).size(), 2U);
  EXPECT_EQ(board.changes(100).back().at("token"), 8);
  EXPECT_EQ(board.history_from(), first + 3s);
  EXPECT_THAT(board.changes(100, "b"), IsEmpty());
}

TEST_F(BoardTest, ASessionHasNoEndAndTellsSinceWhenItOwns) {
  MutexEntry entry{.mutex = "a", .owner_id = "ann", .fencing_token = 1};
  entry.acquired_at = StoreTime{1'600'000'000'000ms};
  look({entry});
  EXPECT_EQ(mutex("a").at("session"), true);
  EXPECT_EQ(mutex("a").at("lease_ends"), nullptr);
  EXPECT_EQ(mutex("a").at("since"), "2020-09-13T12:26:40.000Z");
  EXPECT_EQ(mutex("a").at("owned_before"), false);
}

TEST_F(BoardTest, ShowsTheLongestLeaseThatItHasSeenOfAnOwner) {
  look({owned("a", "ann", 1, 4s)});
  EXPECT_EQ(mutex("a").at("lease_ms"), 4000);
  look({owned("a", "ann", 1, 10s)});
  look({owned("a", "ann", 1, 8s)});
  EXPECT_EQ(mutex("a").at("lease_ms"), 10'000);
  look({owned("a", "bob", 2, 5s)});
  EXPECT_EQ(mutex("a").at("lease_ms"), 5000);
}

TEST_F(BoardTest, ALeaseWithoutMeasureDoesNoHarm) {
  look({owned("a", "ann", 1, std::chrono::milliseconds::max())});
  EXPECT_EQ(mutex("a").at("owner"), "ann");
  look({owned("a", "ann", 1, std::chrono::milliseconds::min())});
  EXPECT_EQ(mutex("a").at("owner"), "ann");
}

TEST_F(BoardTest, ShowsWhoWaitsInOrder) {
  MutexEntry entry = owned("a", "ann", 1);
  entry.waiting = {{.contender_id = "bob", .since = StoreTime{1ms}},
                   {.contender_id = "cid", .since = StoreTime{2ms}}};
  look({entry, owned("b", "ann", 1)});
  EXPECT_EQ(mutex("a").at("waiting").at(0).at("id"), "bob");
  EXPECT_EQ(mutex("a").at("waiting").at(1).at("id"), "cid");
  EXPECT_EQ(mutex("b").at("waiting"), nullptr) << "not known";
  const auto revision = board.revision();
  entry.waiting->erase(entry.waiting->begin());
  look({entry, owned("b", "ann", 1)});
  EXPECT_EQ(since(revision)->at("mutexes").size(), 1U);
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(BoardTest, ShowsTheEndpointThatAnOwnerTells) {
  look({owned("a", "10.0.0.7:8080#simba-0123456789abcdef0123456789abcdef", 1),
        owned("b", "ann", 1)});
  EXPECT_EQ(mutex("a").at("endpoint"), "10.0.0.7:8080");
  EXPECT_EQ(mutex("b").at("endpoint"), nullptr);
}

TEST_F(BoardTest, ShowsSchedulesAndTheirRuns) {
  look({owned("a", "ann", 1)});
  const auto revision = board.revision();
  ScheduleReport report{.definition = "0 3 * * * in UTC"};
  report.runs.push_back({.slot = "2026-11-20T03:00:00Z", .number = 1});
  board.reported("a", report);
  board.reported("unknown", report);
  EXPECT_THAT(board.schedules(), ElementsAre("a"));
  EXPECT_EQ(mutex("a").at("schedule").at("definition"), "0 3 * * * in UTC");
  EXPECT_EQ(mutex("a").at("schedule").at("last_outcome"), "running");
  EXPECT_EQ(mutex("a").at("runs").size(), 1U);
  EXPECT_EQ(since(revision)->at("mutexes").size(), 1U);
  const auto reported = board.revision();
  board.reported("a", report);
  EXPECT_EQ(board.revision(), reported) << "nothing new";
  board.reported("a", {});
  EXPECT_THAT(board.schedules(), IsEmpty());
  EXPECT_EQ(mutex("a").at("schedule"), nullptr);
}

TEST_F(BoardTest, KeepsBytesThatAreNoTextFromItsDocuments) {
  look({owned("a\xff<script>", "\xc3\x28", 1)});
  const Json all = Json::parse("{" + board.all() + "}");
  EXPECT_EQ(all.at("mutexes").at(0).at("mutex"), "a\xef\xbf\xbd<script>");
}

TEST_F(BoardTest, CountsAMutexThatIsListedTwiceOnce) {
  look({owned("a", "ann", 1), owned("a", "bob", 2)});
  EXPECT_EQ(board.size(), 1U);
  EXPECT_EQ(mutex("a").at("owner"), "ann");
}

}  // namespace
}  // namespace simba::cli::serve
