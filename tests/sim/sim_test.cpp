// The simulation itself: a seed tells the whole story, and its program says what it should.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker.hpp"
#include "sim/command.hpp"
#include "sim/play.hpp"
#include "sim/world/network.hpp"
#include "sim/world/server.hpp"
#include "sim/world/threads.hpp"
#include "support/safety.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sim {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Said {
  int code = -1;
  std::string text{};
};

/// What the program says, on its standard output or where `redirection` leads.
Said run_program(const std::string& words, const std::string& redirection = "2>/dev/null") {
  Said said;
  const std::string command = std::string{SIMBA_TEST_SIM} + " " + words + " " + redirection;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return said;
  std::array<char, 65'536> buffer{};
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    said.text.append(buffer.data(), got);
  }
  said.code = WEXITSTATUS(::pclose(pipe));
  return said;
}

TEST(Simulation, TheSameSeedGivesTheSameBytesHereAndInAnotherProcess) {
  for (const std::uint64_t seed : {11U, 12U, 19U}) {
    Threads threads;
    const Outcome first = play(seed, threads, true);
    const Outcome second = play(seed, threads, true);
    ASSERT_GT(first.trace.size(), 10'000U);
    EXPECT_TRUE(first.trace == second.trace) << "seed " << seed;
    const Said other = run_program("--seed " + std::to_string(seed) + " --trace");
    EXPECT_EQ(other.code, 0);
    EXPECT_TRUE(other.text.starts_with(first.trace)) << "seed " << seed;
  }
}

TEST(Simulation, TheTraceBeginsWithWhoIsThereAndShowsWhatBecomesOfMessages) {
  Threads threads;
  std::string all;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) all += play(seed, threads, true).trace;
  EXPECT_THAT(all.substr(0, 200), AllOf(HasSubstr("ttl "), HasSubstr("transition "),
                                        HasSubstr("margin "), HasSubstr("server   has ")));
  EXPECT_THAT(all, AllOf(HasSubstr("begins; clock off by "), HasSubstr("candidate a0 for m")));
  for (const char* words :
       {"reply to acquire of ", "notice changed of ", "notice granted of ", "is doubled\n",
        "is lost\n", "is lost: cut off\n", "takes ", "renews m", "crashes\n"}) {
    EXPECT_THAT(all, HasSubstr(words));
  }
}

TEST(Simulation, WithoutATraceTheSameHappens) {
  Threads threads;
  const Outcome traced = play(11, threads, true);
  const Outcome plain = play(11, threads, false);
  EXPECT_TRUE(plain.trace.empty());
  EXPECT_EQ(plain.events, traced.events);
  EXPECT_EQ(plain.ownerships, traced.ownerships);
  EXPECT_EQ(plain.faults, traced.faults);
}

TEST(Simulation, OtherSeedsTellOtherStories) {
  Threads threads;
  EXPECT_NE(play(1, threads, true).trace, play(2, threads, true).trace);
}

TEST(Simulation, NoRuleIsBrokenInAHandfulOfSeeds) {
  Threads threads;
  FaultCounts faults{};
  std::size_t ownerships = 0;
  std::size_t overtaken = 0;
  std::size_t kept_out = 0;
  SlotCounts slots{};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Outcome outcome = play(seed, threads, false);
    ASSERT_EQ(outcome.rule, Rule::none)
        << support::safety_violation << "seed " << seed << ": " << outcome.what;
    ASSERT_FALSE(outcome.stuck);
    ownerships += outcome.ownerships;
    overtaken += outcome.overtaken;
    kept_out += outcome.kept_out;
    slots += outcome.slots;
    for (std::size_t i = 0; i < fault_kinds; ++i) faults.at(i) += outcome.faults.at(i);
  }
  EXPECT_GT(ownerships, 600U);
  EXPECT_GT(overtaken, 20U) << "two of one id hardly ever meet";
  EXPECT_GT(kept_out, 20U) << "the same, where the store sees who is alive";
  EXPECT_GT(slots.begun, 600U);
  EXPECT_GT(slots.repeated, 60U);
  EXPECT_GT(slots.passed_over, 60U);
  EXPECT_GT(slots.lost, 20U);
  EXPECT_GT(slots.judged, 100U);
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    EXPECT_GT(faults.at(i), 0U) << name_of(static_cast<Fault>(i)) << " never happen";
  }
}

TEST(SimulationProgram, RefusesWhatItDoesNotUnderstand) {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"--seed"},
      {"--seed", "x"},
      {"--seed", "-1"},
      {"--seed", "1", "--hours", "1"},
      {"--seed", "1", "--first-seed", "2"},
      {"--hours", "0"},
      {"--hours", "1", "--trace"},
      {"--hunt", "1", "--report", "file"},
      {"--nonsense", "1"},
  };
  for (const auto& words : wrong) EXPECT_EQ(run(words), 2) << testing::PrintToString(words);
}

TEST(SimulationProgram, SaysInOneSentenceWhatItDoesNotUnderstand) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "Give one of --seed, --hours and --hunt."},
      {"--seed", "--seed needs a value."},
      {"--seed x", "--seed takes a whole number of at most 18 digits, not [x]."},
      {"--hours -1", "--hours takes a number greater than 0, not [-1]."},
      {"--nonsense", "There is no option [--nonsense]."},
      {"--hunt 1 --trace", "--trace goes with --seed only."},
      {"--hunt 1 --report file", "--report goes with --hours only."},
      {"--seed 1 --first-seed 2", "--first-seed does not go with --seed."},
  };
  for (const auto& [words, why] : wrong) {
    const Said said = run_program(words, "2>&1 >/dev/null");
    EXPECT_EQ(said.code, 2) << words;
    EXPECT_THAT(said.text, StartsWith("simba-sim: " + why + "\nusage: ")) << words;
  }
}

TEST(SimulationProgram, HelpsWithOptionsAndExitCodes) {
  const Said said = run_program("--help");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, AllOf(StartsWith("usage: "), HasSubstr("--first-seed S"),
                               HasSubstr("exit codes: 0 ")));
}

TEST(SimulationProgram, ReportsHoursAsATable) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() / "report.md";
  const Said said = run_program("--hours 0.5 --first-seed 7 --report " + file);
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, AllOf(HasSubstr("hours per second"), HasSubstr("fault: crashes"),
                               HasSubstr("longest time without an owner")));
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  EXPECT_THAT(text.str(), AllOf(StartsWith("| simulation |"), HasSubstr("| hours per second |"),
                                HasSubstr("| fault: crashes |")));
}

TEST(SimulationProgram, HuntsForAsLongAsItIsTold) {
  const Said said = run_program("--hunt 0.2");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, StartsWith("found nothing in "));
}

// ---- the rules of the server ---------------------------------------------------------------

class SimServer : public testing::Test {
 protected:
  static Call call(Call::Kind kind, const std::string& who, FencingToken token = 0) {
    return Call{.kind = kind, .contender = who, .ttl = 10s, .transition = 6s, .token = token};
  }
  Record acquire(const std::string& who, ServerTime at) {
    return server_.execute(call(Call::Kind::acquire, who), at);
  }

  Server server_{1, Offer::grants};
};

TEST_F(SimServer, LetsNobodyInBeforeTheLeaseIsOver) {
  EXPECT_EQ(acquire("a", 100s).owner, "a");
  EXPECT_EQ(acquire("b", 116s - 1ns).owner, "a");
  EXPECT_EQ(acquire("b", 116s).owner, "b");
}

TEST_F(SimServer, ARenewalBeginsTheLeaseAnewForItsOwnerOnly) {
  acquire("a", 100s);
  EXPECT_EQ(server_.execute(call(Call::Kind::guard, "b"), 110s).transition_at, 116s);
  EXPECT_EQ(server_.execute(call(Call::Kind::guard, "a"), 110s).transition_at, 126s);
}

TEST_F(SimServer, AReleaseNeedsTheToken) {
  const Record first = acquire("a", 100s);
  const Record second = acquire("a", 101s);
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(server_.execute(call(Call::Kind::release, "a", first.token), 102s).owner, "a");
  EXPECT_EQ(server_.execute(call(Call::Kind::release, "a", second.token), 102s).owner, "");
}

TEST_F(SimServer, TellsTwoOfOneIdApart) {
  const auto asked = [](Call::Kind kind, std::uint64_t instance, FencingToken token = 0) {
    Call made = call(kind, "a", token);
    made.instance = instance;
    return made;
  };
  const Record first = server_.execute(asked(Call::Kind::acquire, 1), 100s);
  EXPECT_EQ(server_.execute(asked(Call::Kind::acquire, 2), 101s).token, first.token);
  EXPECT_EQ(server_.execute(asked(Call::Kind::guard, 2), 102s).transition_at, first.transition_at);
  const Record second = server_.execute(asked(Call::Kind::acquire, 2, first.token), 103s);
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(second.instance, 2U);
  EXPECT_EQ(server_.execute(asked(Call::Kind::guard, 1), 104s).transition_at, second.transition_at);
}

TEST_F(SimServer, WhereItSeesWhoIsAliveNobodyTakesOverFromOneThatIsAndTheDeadAskInVain) {
  Server server{1, Offer::grants, true};
  const auto asked = [](Call::Kind kind, std::size_t client, FencingToken token = 0) {
    Call made = call(kind, "a", token);
    made.client = made.instance = client;
    return made;
  };
  const Record first = server.execute(asked(Call::Kind::acquire, 1), 100s);
  EXPECT_EQ(server.execute(asked(Call::Kind::acquire, 2, first.token), 101s), first);
  server.forget_client(1);
  EXPECT_EQ(server.execute(asked(Call::Kind::guard, 1), 102s), first);
  const Record second = server.execute(asked(Call::Kind::acquire, 2, first.token), 103s);
  EXPECT_EQ(second.instance, 2U);
  EXPECT_EQ(server.execute(asked(Call::Kind::acquire, 1, second.token), 104s), second);
  EXPECT_EQ(server.execute(asked(Call::Kind::acquire, 1), 200s), second) << "also when it is over";
}

TEST_F(SimServer, AReleaseGrantsToTheFirstWhoWaitsAndListens) {
  const Record first = acquire("a", 100s);
  acquire("b", 101s);
  acquire("c", 102s);
  server_.subscribe(0, 1, 0, "c");
  server_.pushes.clear();
  const Record after = server_.execute(call(Call::Kind::release, "a", first.token), 103s);
  EXPECT_EQ(after.owner, "c");
  EXPECT_GT(after.token, first.token);
  ASSERT_EQ(server_.pushes.size(), 1U);
  EXPECT_EQ(server_.pushes[0].kind, Push::Kind::granted);
}

TEST_F(SimServer, WritesATextForItsOwnerOverTheVersionThatIsThereAndNotBeforeItsTime) {
  using Outcome = RecordAnswer::Outcome;
  const SystemTime noon{12h};
  const FencingToken token = acquire("a", 100s).token;
  const auto write = [&](const char* text, std::uint64_t replaces, std::optional<RecordOwner> owner,
                         SystemTime not_before, SystemTime now, ServerTime at = 101s) {
    return server_.execute(
        TextCall{
            .kind = TextCall::Kind::write,
            .write = {.text = text, .replaces = replaces, .owner = owner, .not_before = not_before},
            .now = now},
        at);
  };
  const RecordOwner a{"a", token};
  EXPECT_EQ(write("1", 0, a, noon, noon - 1ms).outcome, Outcome::too_early);
  EXPECT_EQ(write("1", 1, a, noon, noon - 1ms).outcome, Outcome::changed);
  EXPECT_EQ(write("1", 1, RecordOwner{"b", token}, noon, noon).outcome, Outcome::not_owned);
  EXPECT_EQ(write("1", 0, RecordOwner{"a", token + 1}, noon, noon).outcome, Outcome::not_owned);
  EXPECT_EQ(write("1", 0, a, noon, noon, 116s).outcome, Outcome::not_owned) << "its lease is over";
  EXPECT_EQ(server_.text(0).version, 0U);
  const RecordAnswer written = write("1", 0, a, noon, noon);
  EXPECT_EQ(written.outcome, Outcome::written);
  EXPECT_EQ(written.record.text, "1");
  EXPECT_EQ(written.record.version, 1U);
  EXPECT_EQ(written.record.now, noon);
  EXPECT_EQ(write("2", 0, std::nullopt, noon, noon).outcome, Outcome::changed);
  EXPECT_EQ(write("2", 1, std::nullopt, noon, noon).outcome, Outcome::written) << "by anybody";
}

TEST_F(SimServer, KeepsTextsWhenItRestartsAndForgetsThoseOfTheLastSecond) {
  const auto write = [&](const char* text, ServerTime at) {
    TextCall call{.kind = TextCall::Kind::write};
    call.write.text = text;
    call.write.replaces = server_.text(0).version;
    server_.execute(call, at);
  };
  write("old", 100s);
  write("new", 120s);
  server_.restart();
  EXPECT_EQ(server_.text(0).text, "new");
  server_.restart_without_memory(119s + 500ms);
  EXPECT_EQ(server_.text(0).text, "old");
  EXPECT_EQ(server_.text(0).version, 1U);
}

TEST_F(SimServer, ForgetsTheLastSecondButItsTokensStillGrow) {
  acquire("a", 100s);
  const Record forgotten = acquire("b", 120s);
  server_.restart_without_memory(119s + 500ms);
  EXPECT_EQ(server_.record(0).owner, "a");
  const Record next = acquire("c", 120s + 600ms);
  EXPECT_EQ(next.owner, "c");
  EXPECT_GT(next.token, forgotten.token);
}

}  // namespace
}  // namespace simba::sim
