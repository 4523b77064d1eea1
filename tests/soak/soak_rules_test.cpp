// What a soak judges by: it must see what is wrong.
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "soak/flatness.hpp"
#include "soak/ledger.hpp"
#include "soak/options.hpp"
#include "soak/outcome.hpp"
#include "support/processes/child_process.hpp"
#include "support/temporary_folder.hpp"

namespace simba::soak {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct SoakLedger : testing::Test {
  static LocalTime at(std::chrono::milliseconds moment) { return LocalTime{moment}; }

  /// An entry of this process.
  static Ledger::Entry entry(FencingToken token, std::chrono::milliseconds now,
                             std::chrono::milliseconds until) {
    return {.token = token, .until = at(until), .now = at(now), .process = ::getpid()};
  }

  /// One that has ended.
  static pid_t dead_process() {
    support::ChildProcess process{{"/bin/true"}, {}};
    const pid_t id = process.id();
    process.wait();
    return id;
  }

  /// The process ends in the middle of its update.
  void enter_cut_short(const Ledger::Entry& cut) {
    EXPECT_THROW(ledger.enter(0, cut, [] { throw std::runtime_error{"killed"}; }),
                 std::runtime_error);
  }

  const support::TemporaryFolder folder;
  Ledger ledger{folder.path() / "ledger", 3};
  Ledger other{folder.path() / "ledger"};  // as another process has it
};

TEST_F(SoakLedger, AllowsOwnersAfterEachOther) {
  ledger.enter(1, entry(5, 10ms, 100ms));
  ledger.leave(1, 5, at(20ms));
  other.enter(1, entry(6, 20ms, 150ms));
  ledger.enter(1, entry(9, 150ms, 300ms));  // the other has died; its time is over
  EXPECT_THAT(ledger.faults(), IsEmpty());
  EXPECT_EQ(other.ownerships(), 3U);
  EXPECT_EQ(other.owned_once(), 1U);
}

TEST_F(SoakLedger, SeesAnOwnerThatComesBeforeTheOtherIsDone) {
  ledger.enter(2, entry(5, 10ms, 100ms));
  other.enter(2, entry(6, 99ms, 200ms));
  EXPECT_THAT(ledger.faults(), HasSubstr("1 ownerships began while another lasted"));
}

TEST_F(SoakLedger, SeesAnOwnerThatComesWhileTheOtherHasRenewed) {
  ledger.enter(2, entry(5, 10ms, 100ms));
  other.enter(2, entry(6, 150ms, 300ms));
  EXPECT_THAT(ledger.faults(), IsEmpty()) << "the first may have lost it at 100 ms";
  ledger.leave(2, 5, at(160ms));
  EXPECT_THAT(ledger.faults(), HasSubstr("1 ownerships began while another lasted"));
}

TEST_F(SoakLedger, AllowsALateGoodByeOfOneThatHasLost) {
  ledger.enter(2, entry(5, 10ms, 100ms));
  other.enter(2, entry(6, 150ms, 300ms));
  ledger.leave(2, 5, at(140ms));  // renewed until then
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(SoakLedger, ALateGoodByeDoesNotHideTheNextOwner) {
  ledger.enter(0, entry(5, 10ms, 100ms));
  other.enter(0, entry(6, 101ms, 200ms));
  ledger.leave(0, 5, at(100ms));
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.enter(0, entry(7, 150ms, 300ms));
  EXPECT_THAT(ledger.faults(), HasSubstr("began while another lasted"));
}

TEST_F(SoakLedger, SeesTokensThatDoNotGrow) {
  ledger.enter(2, entry(5, 10ms, 100ms));
  ledger.leave(2, 5, at(15ms));
  EXPECT_FALSE(other.enter(2, entry(5, 20ms, 200ms)));
  EXPECT_THAT(ledger.faults(), HasSubstr("1 tokens did not grow, e.g. of soak-2: 5 after 5"));
  EXPECT_FALSE(other.enter(2, entry(4, 30ms, 200ms)));
  EXPECT_THAT(ledger.faults(), HasSubstr("2 tokens did not grow, e.g. of soak-2: 4 after 5"));
}

TEST_F(SoakLedger, LeavesOneOutThatStoodStillUntilTheNextHadCome) {
  ledger.enter(2, entry(6, 150ms, 300ms));
  EXPECT_FALSE(other.enter(2, entry(5, 10ms, 100ms)));
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(SoakLedger, SeesALostUpdate) {
  ledger.enter(0, entry(5, 10ms, 100ms), [&] { other.enter(0, entry(6, 150ms, 300ms)); });
  EXPECT_THAT(ledger.faults(), HasSubstr("1 updates of counters were lost"));
}

TEST_F(SoakLedger, ExcusesAMissingUpdateThatTheEndOfItsProcessHasCutShort) {
  auto cut = entry(5, 10ms, 100ms);
  cut.process = dead_process();
  enter_cut_short(cut);
  EXPECT_THAT(ledger.faults(), IsEmpty());
  other.enter(0, entry(6, 150ms, 300ms));
  EXPECT_THAT(ledger.faults(), IsEmpty()) << "when the mark has gone, too";
  other.leave(0, 6, at(200ms));
  ledger.enter(0, entry(7, 200ms, 300ms), [&] { other.enter(0, entry(8, 350ms, 400ms)); });
  EXPECT_THAT(ledger.faults(), HasSubstr("1 updates of counters were lost")) << "but no other";
}

TEST_F(SoakLedger, DoesNotExcuseAMissingUpdateOfAProcessThatLives) {
  enter_cut_short(entry(5, 10ms, 100ms));
  EXPECT_THAT(ledger.faults(), HasSubstr("1 updates of counters were lost"));
}

std::vector<Sample> line(std::int64_t first, std::int64_t last) {
  std::vector<Sample> samples;
  for (int i = 0; i <= 60; ++i) {
    samples.push_back({static_cast<double>(i), first + (last - first) * i / 60});
  }
  return samples;
}

TEST(SoakFlatness, LeavesTheWarmUpOut) {
  auto samples = line(100, 100);
  for (int i = 0; i < 10; ++i) samples[static_cast<std::size_t>(i)].value = i;
  EXPECT_TRUE(is_flat(thirds_of(samples, 60), worker_rule.count));
}

TEST(SoakFlatness, SeesOneThreadMoreOfAWorker) {
  auto samples = line(7, 7);
  for (std::size_t i = 45; i <= 60; ++i) samples[i].value = 8;
  EXPECT_FALSE(is_flat(thirds_of(samples, 60), worker_rule.count));
}

TEST(SoakFlatness, AllowsAServerTenPerCentAndEightThreads) {
  EXPECT_TRUE(is_flat({.first = 100, .last = 118, .known = true}, server_rule.count));
  EXPECT_FALSE(is_flat({.first = 100, .last = 119, .known = true}, server_rule.count));
}

TEST(SoakFlatness, AllowsMemoryOfAWorkerTwoPerCentAndHalfAMebibyte) {
  constexpr Growth allowed = worker_rule.memory;
  EXPECT_TRUE(is_flat({.first = 20'000, .last = 20'000 + 400 + 512, .known = true}, allowed));
  EXPECT_FALSE(is_flat({.first = 20'000, .last = 20'001 + 400 + 512, .known = true}, allowed));
  EXPECT_FALSE(is_flat(thirds_of(line(20'000, 23'000), 60), allowed));
}

TEST(SoakFlatness, AllowsMemoryOfAServerFivePerCentAndOneMebibyte) {
  constexpr Growth allowed = server_rule.memory;
  EXPECT_TRUE(is_flat({.first = 20'000, .last = 20'000 + 1'000 + 1'024, .known = true}, allowed));
  EXPECT_FALSE(is_flat({.first = 20'000, .last = 20'001 + 1'000 + 1'024, .known = true}, allowed));
  EXPECT_FALSE(is_flat(thirds_of(line(20'000, 30'000), 60), allowed));
}

TEST(SoakFlatness, WithoutSamplesNothingIsFlat) {
  EXPECT_FALSE(is_flat(thirds_of({}, 60), server_rule.count));
  EXPECT_FALSE(is_flat(thirds_of(line(1, 1), 1'000), server_rule.memory));
}

TEST(SoakVerdict, NamesWhatIsWrong) {
  const Options options;
  const Judged flat{.memory = {9, 9, true}, .threads = {5, 5, true}, .descriptors = {9, 9, true}};
  Outcome outcome{.seconds = 600, .ownerships = 9, .kills = 2, .workers = {flat}, .server = flat};
  EXPECT_THAT(verdict(outcome, options), IsEmpty());
  outcome.workers.front().descriptors.last = 10;
  EXPECT_THAT(verdict(outcome, options), HasSubstr("a worker grew"));
  outcome.left_held = 3;
  EXPECT_THAT(verdict(outcome, options), HasSubstr("3 mutexes are left held"));
  EXPECT_THAT(report(outcome, options), HasSubstr("**bad**"));
}

TEST(SoakVerdict, JudgesThreadsAndDescriptorsOfTheServerToo) {
  const Options options;
  const Judged flat{.memory = {9, 9, true}, .threads = {5, 5, true}, .descriptors = {9, 9, true}};
  Outcome outcome{.seconds = 600, .ownerships = 9, .kills = 2, .workers = {flat}, .server = flat};
  outcome.server->threads.last = 13;
  EXPECT_THAT(verdict(outcome, options), IsEmpty());
  outcome.server->threads.last = 14;
  EXPECT_THAT(verdict(outcome, options), HasSubstr("the server grew"));
  outcome.server = flat;
  outcome.server->descriptors.last = 18;
  EXPECT_THAT(verdict(outcome, options), HasSubstr("the server grew"));
}

TEST(SoakVerdict, SaysWhatItGoesBy) {
  const std::string text = report(Outcome{.seconds = 600}, Options{});
  EXPECT_THAT(text, HasSubstr("of a worker in memory by more than 2 % + 512 KiB, in threads or "
                              "descriptors at all;"));
  EXPECT_THAT(text, HasSubstr("in memory by more than 5 % + 1024 KiB, in threads or descriptors by "
                              "more than 10 % + 8 ("));
}

TEST(SoakVerdict, IsNeitherGoodNorBadWhereItWasInterrupted) {
  const Outcome outcome{.seconds = 3, .interrupted = true};
  EXPECT_EQ(verdict(outcome, Options{}), "it was interrupted\n");
  EXPECT_THAT(report(outcome, Options{}), HasSubstr("| interrupted |"));
  EXPECT_THAT(report(outcome, Options{}), Not(HasSubstr("**bad**")));
}

TEST(SoakOptions, SayWhatIsWrong) {
  const auto complaint = [](const std::vector<std::string>& words) -> std::string {
    try {
      static_cast<void>(parse_options(words));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(complaint({"--bogus"}), "\"--bogus\" is unknown");
  EXPECT_EQ(complaint({"--store"}), "\"--store\" has no value");
  EXPECT_EQ(complaint({"--seed", "1"}), "--store is missing");
  EXPECT_TRUE(parse_options({"--help"}).help);
}

TEST(SoakOptions, LeaveTimeForTheLeasesOfTheKilledBeforeTheEndAndNoneForOthersAfterIt) {
  for (const std::chrono::seconds seconds : {5s, 12s, 59s, 60s, 600s}) {
    const Options options{.seconds = seconds};
    const auto lease = options.ttl() + options.transition();
    EXPECT_GT(options.end() - options.kills_end(), lease);
    EXPECT_GE(options.kills_end(), seconds / 2);
    EXPECT_GE(options.end(), seconds);
    // Owners renew at 60 % of the ttl, so this much is left at least.
    EXPECT_LE(options.release_bound() * 2, options.ttl() * 4 / 10 + options.transition());
  }
  EXPECT_EQ(Options{}.end(), 600s);
}

TEST(SoakOptions, AreTheSameForAWorker) {
  Options options =
      parse_options({"--store", "redis", "--mutexes", "7", "--processes", "5", "--seconds", "12"});
  options.worker = 3;
  options.life = 2;
  options.ledger = "/tmp/x";
  const Options again = parse_options(words_of(options));
  EXPECT_EQ(words_of(again), words_of(options));
  EXPECT_EQ(again.worker, 3U);
  EXPECT_EQ(again.mutexes, 7U);
}

}  // namespace
}  // namespace simba::soak
