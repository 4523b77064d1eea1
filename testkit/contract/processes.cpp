// Contenders in processes of their own.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/served_time.hpp"
#include "testkit/contract/child.hpp"
#include "testkit/contract/member.hpp"
#include "testkit/contract/process.hpp"

namespace simba::testkit::detail {
namespace {

/// A folder that vanishes with the test.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_{std::filesystem::temp_directory_path() / ("simba-" + name)} {
    std::filesystem::create_directory(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

std::vector<Visit> read_visits(const std::filesystem::path& path) {
  std::vector<Visit> visits;
  std::ifstream file{path};
  FencingToken token = 0;
  LocalTime::rep entered = 0;
  LocalTime::rep last_owned = 0;
  while (file >> token >> entered >> last_owned) {
    visits.push_back({token, LocalTime{LocalTime::duration{entered}},
                      LocalTime{LocalTime::duration{last_owned}}});
  }
  return visits;
}

/// The token with which the holder has acquired; 0 when it has not.
FencingToken token_of(Child& holder) {
  const std::string line = holder.line();
  return line.starts_with(acquired_word) ? std::stoull(line.substr(acquired_word.size())) : 0;
}

void ten_processes_never_own_at_the_same_time_and_lose_no_update(Contract& contract) {
  constexpr int processes = 10;
  const int rounds = contract.has(Capability::prompt_hand_over) ? 10 : 2;
  const std::string mutex = contract.fresh_name();
  const Folder folder{mutex};
  std::vector<Child> children;
  children.reserve(processes);
  for (int i = 0; i < processes; ++i) {
    children.push_back(
        Child::worker(contract, mutex, contract.calm_lease(), rounds, folder.path().string()));
  }
  bool all_done = true;
  for (Child& child : children) {
    const auto code = child.wait(4 * contract.patience());
    EXPECT_EQ(code, 0);
    all_done = all_done && code == 0;
  }
  long long count = 0;
  std::ifstream{folder.path() / "count"} >> count;
  EXPECT_EQ(count, processes * rounds) << (all_done ? safety_violation : "") << "lost updates";
  const auto visits = read_visits(folder.path() / "visits");
  EXPECT_EQ(visits.size(), static_cast<std::size_t>(processes * rounds));
  EXPECT_EQ(contradiction(visits), "");
}

void a_killed_process_is_taken_over_within_the_bound(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.clear_lease();
  const auto bound = contract.take_over(lease);
  const auto factory = contract.factory(lease);
  Child owner = Child::holder(contract, mutex, lease);
  const FencingToken token = token_of(owner);
  ASSERT_GT(token, 0U);
  Member waiter{contract, mutex, *factory};
  waiter.start();
  EXPECT_FALSE(waiter.acquires_within(length(lease) * 3 / 2)) << "the process renews its lease";

  const LocalTime killed_at = contract.now();
  owner.send(SIGKILL);
  EXPECT_EQ(owner.wait(contract.patience()), -SIGKILL);
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(waiter.acquired_at() - killed_at, bound);
  EXPECT_TRUE(grows(token, waiter.tokens().back()));
}

void a_paused_process_is_not_owner_on_waking(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto factory = contract.factory(lease);
  Child owner = Child::holder(contract, mutex, lease);
  ASSERT_GT(token_of(owner), 0U);
  owner.say(std::string{is_held_question});
  ASSERT_EQ(owner.line(), yes_word);
  Member waiter{contract, mutex, *factory};
  waiter.start();

  // A process that is paused while it holds a lock inside the store can hold up all others. It is
  // let go then and paused again.
  const auto bound = contract.take_over(lease);
  for (int attempt = 0; attempt < 3 && waiter.acquisitions() == 0; ++attempt) {
    owner.send(SIGCONT);
    owner.send(SIGSTOP);
    waiter.acquires_within(bound + contract.hand_over());
  }
  ASSERT_TRUE(waiter.has_acquired());
  // The question waits for the process: it is answered as soon as it wakes.
  owner.say(std::string{is_held_question});
  owner.send(SIGCONT);
  EXPECT_EQ(owner.line(), no_word) << safety_violation << "it woke as a second owner";
  EXPECT_TRUE(waiter.service().is_owner());
}

/// Mostly: on a busy machine one may take longer.
void a_release_reaches_a_waiter_in_another_process_within_the_bound(Contract& contract) {
  const auto factory = contract.factory();
  std::array<std::chrono::nanoseconds, 3> spans{};
  for (auto& span : spans) {
    const std::string mutex = contract.fresh_name();
    Child owner = Child::holder(contract, mutex, contract.calm_lease());
    ASSERT_GT(token_of(owner), 0U);
    Member waiter{contract, mutex, *factory};
    waiter.start();
    ASSERT_TRUE(contract.eventually([&] { return waiter.service().has_owner(); }));
    const LocalTime begun = contract.now();
    const ServedTime time;
    owner.say(std::string{close_request});
    ASSERT_TRUE(waiter.has_acquired());
    span = std::min<std::chrono::nanoseconds>(time.now(), waiter.acquired_at() - begun);
    EXPECT_EQ(owner.line(), closed_word);
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_LE(spans[spans.size() / 2], contract.hand_over());
  EXPECT_LE(spans.back(), contract.hand_over() + contract.stall());
}

void an_observer_sees_the_owner_in_another_process(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  Observer observer{contract, mutex, *factory};
  observer.service().start();
  Child owner = Child::holder(contract, mutex, contract.calm_lease());
  const FencingToken token = token_of(owner);
  ASSERT_GT(token, 0U);
  ASSERT_TRUE(contract.eventually([&] { return observer.service().has_owner(); }));
  EXPECT_GE(observer.service().after_owner().fencing_token(), token);
  owner.say(std::string{close_request});
  EXPECT_TRUE(observer.sees(""));
}

}  // namespace

ContractCases process_cases() {
  using enum Capability;
  return {
      {"TenProcessesNeverOwnAtTheSameTimeAndLoseNoUpdate",
       ten_processes_never_own_at_the_same_time_and_lose_no_update,
       {separate_processes}},
      {"AKilledProcessIsTakenOverWithinTheBound",
       a_killed_process_is_taken_over_within_the_bound,
       {separate_processes}},
      {"APausedProcessIsNotOwnerOnWaking",
       a_paused_process_is_not_owner_on_waking,
       {separate_processes}},
      {"AReleaseReachesAWaiterInAnotherProcessWithinTheBound",
       a_release_reaches_a_waiter_in_another_process_within_the_bound,
       {separate_processes, prompt_hand_over}},
      {"AnObserverSeesTheOwnerInAnotherProcess",
       an_observer_sees_the_owner_in_another_process,
       {separate_processes}},
  };
}

}  // namespace simba::testkit::detail
