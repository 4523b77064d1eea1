// Elections, schedules and watches of a client over the in-memory store, in virtual time.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "simba/core/contender_id_generator.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_executor.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ClientElection : public ::testing::Test {
 protected:
  ~ClientElection() override {
    store_->mend();
    world_.advance(2min);
  }

  std::shared_ptr<engine::LeaseServiceFactory> make_factory() {
    return std::make_shared<engine::LeaseServiceFactory>(store_, world_.runtime());
  }

  /// One that writes down what it is told.
  ElectionOptions recorded(const std::string& name) {
    return {.on_elected = [this, name](const Leadership&) { story_.push_back(name + " leads"); },
            .on_deposed =
                [this, name](Loss why) {
                  story_.push_back(name + " ends: " + std::string{to_string(why)});
                },
            .id = name};
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  std::vector<std::string> story_;
  const Client client_{make_factory()};
  const Client other_{make_factory()};
};

TEST_F(ClientElection, EveryEndIsToldAndOnlyThenTheNextOneLeads) {
  Election one = client_.elect("leader", recorded("one"));
  world_.run_ready();
  const Election two = other_.elect("leader", recorded("two"));
  world_.run_ready();
  EXPECT_TRUE(one.is_leader());
  EXPECT_FALSE(two.is_leader());
  EXPECT_EQ(one.id(), "one");
  EXPECT_EQ(one.health(), Health::well);
  const std::stop_token lost = one.lost();
  const FencingToken first = one.fencing_token();
  one.stop();
  one.stop();
  world_.run_ready();
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_TRUE(two.is_leader());
  EXPECT_GT(two.fencing_token(), first);
  EXPECT_THAT(story_, ElementsAre("one leads", "one ends: given up", "two leads"));
}

TEST_F(ClientElection, OnDeposedHasReturnedBeforeTheMutexIsReleased) {
  ElectionOptions options = recorded("one");
  options.on_deposed = [&](Loss) {
    EXPECT_EQ(other_.owner("leader").owner_id(), "one");
    story_.emplace_back("cleaned up");
  };
  {
    const Election one = client_.elect("leader", std::move(options));
    world_.run_ready();
  }
  EXPECT_THAT(story_, ElementsAre("one leads", "cleaned up"));
  EXPECT_EQ(other_.owner("leader").owner_id(), "");
}

TEST_F(ClientElection, OnDeposedSeesHowLongTheLeaseLasts) {
  std::optional<Leadership> leadership;
  Election one;
  EXPECT_EQ(one.lease_left(), 0s);
  ElectionOptions options = recorded("one");
  options.on_elected = [&](Leadership me) { leadership = std::move(me); };
  options.on_deposed = [&](Loss) {
    world_.advance(20s);  // it is renewed meanwhile
    EXPECT_GT(leadership->lease_left(), 5s);
    EXPECT_EQ(leadership->lease_left(), one.lease_left());
    story_.emplace_back("cleaned up");
  };
  one = client_.elect("leader", std::move(options));
  world_.run_ready();
  ASSERT_TRUE(leadership);
  EXPECT_GT(leadership->lease_left(), 10s);
  const Leadership first = *leadership;
  one.step_down();
  EXPECT_EQ(first.lease_left(), 0s);
  world_.advance(11s);
  EXPECT_GT(one.lease_left(), 10s);
  EXPECT_EQ(first.lease_left(), 0s) << "that is another leadership";
  one = {};
  EXPECT_EQ(leadership->lease_left(), 0s);
  EXPECT_THAT(story_, ElementsAre("cleaned up", "cleaned up"));
}

TEST_F(ClientElection, ALossIsToldWithItsReasonAndItContendsAgain) {
  const Election one = client_.elect("leader", recorded("one"));
  world_.run_ready();
  store_->cut();
  world_.advance(11s);
  EXPECT_EQ(one.health(), Health::troubled);
  world_.advance(9s);
  EXPECT_FALSE(one.is_leader());
  EXPECT_THAT(story_, ElementsAre("one leads", "one ends: expired"));
  store_->mend();
  world_.advance(20s);
  EXPECT_TRUE(one.is_leader());
  EXPECT_EQ(one.health(), Health::well);
}

TEST_F(ClientElection, OneThatStepsDownInAStopCallbackOfItsLossIsDeposedOnceAndContendsAgain) {
  Election one;
  ElectionOptions options = recorded("one");
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
  options.on_elected = [&](const Leadership& me) {
    story_.emplace_back("one leads");
    on_loss.emplace(me.lost(), [&] { one.step_down(); });
  };
  one = client_.elect("leader", std::move(options));
  world_.run_ready();
  store_->cut();
  world_.advance(20s);
  EXPECT_THAT(story_, ElementsAre("one leads", "one ends: expired"));
  store_->mend();
  world_.advance(1min);
  EXPECT_TRUE(one.is_leader());
  EXPECT_THAT(story_, ElementsAre("one leads", "one ends: expired", "one leads"));
  one.stop();
}

TEST_F(ClientElection, AFollowerIsWellAgainWhenTheStoreAnswersAgain) {
  const Lock held = client_.lock("leader");
  const Election two = other_.elect("leader", recorded("two"));
  world_.run_ready();
  EXPECT_EQ(two.health(), Health::well);
  store_->cut();
  world_.advance(30s);
  EXPECT_EQ(two.health(), Health::troubled);
  store_->mend();
  world_.advance(30s);
  EXPECT_EQ(two.health(), Health::well);
}

TEST_F(ClientElection, AnExceptionOfOnElectedStepsDownAndLetsOthersComeFirst) {
  ElectionOptions options = recorded("one");
  options.on_elected = [&](const Leadership&) {
    story_.emplace_back("one fails");
    throw std::runtime_error{"no database"};
  };
  const Election one = client_.elect("leader", std::move(options));
  world_.run_ready();
  EXPECT_FALSE(one.is_leader());
  EXPECT_THAT(story_, ElementsAre("one fails", "one ends: given up"));
  EXPECT_TRUE(other_.try_lock("leader")) << "released";
  world_.advance(11s);
  EXPECT_EQ(story_.size(), 4U) << "it tries again after a ttl";
}

TEST_F(ClientElection, StepDownHandsOverAndContendsAgain) {
  Election one = client_.elect("leader", recorded("one"));
  world_.run_ready();
  Election two = other_.elect("leader", recorded("two"));
  world_.run_ready();
  one.step_down();
  world_.run_ready();
  EXPECT_TRUE(two.is_leader());
  two.step_down();
  world_.run_ready();
  EXPECT_FALSE(one.is_leader()) << "it rests";
  world_.advance(11s);
  EXPECT_TRUE(one.is_leader());
  one.step_down();
  one.stop();
  world_.advance(1min);
  EXPECT_FALSE(one.is_leader()) << "stopped while it rested";
  EXPECT_TRUE(two.is_leader());
}

TEST_F(ClientElection, StepDownInsideACallbackWorks) {
  Election one;
  ElectionOptions options = recorded("one");
  options.on_elected = [&](const Leadership& me) {
    story_.emplace_back("one leads");
    if (story_.size() > 1) return;
    one.step_down();
    EXPECT_TRUE(me.lost().stop_requested());
    story_.emplace_back("back in on_elected");
  };
  one = client_.elect("leader", std::move(options));
  world_.run_ready();
  EXPECT_THAT(story_, ElementsAre("one leads", "one ends: given up", "back in on_elected"));
  world_.advance(11s);
  EXPECT_TRUE(one.is_leader());
}

TEST_F(ClientElection, ACallbackMayDestroyItsElection) {
  std::optional<Election> one;
  ElectionOptions options = recorded("one");
  options.on_elected = [&](const Leadership&) {
    one.reset();
    story_.emplace_back("gone");
  };
  one = client_.elect("leader", std::move(options));
  world_.run_ready();
  EXPECT_THAT(story_, ElementsAre("one ends: given up", "gone"));
  EXPECT_TRUE(other_.try_lock("leader"));
}

TEST_F(ClientElection, StaysOutIfItsIdIsFoundToBeUsedTwiceWhileItStepsDown) {
  Election twin;
  ElectionOptions options = recorded("one");
  options.on_deposed = [&](Loss) {
    ElectionOptions same = recorded("twin");
    same.id = "one";
    twin = other_.elect("leader", std::move(same));
    world_.advance(30s);  // the lease is renewed meanwhile, or would be
  };
  Election one = client_.elect("leader", std::move(options));
  world_.run_ready();
  one.step_down();
  EXPECT_EQ(one.health(), Health::out);
  world_.advance(2min);
  EXPECT_TRUE(twin.is_leader());
  EXPECT_THAT(story_, ElementsAre("one leads", "twin leads"));
}

TEST_F(ClientElection, MaxHoldEndsALeadership) {
  ElectionOptions options = recorded("one");
  options.max_hold = 1min;
  const Election one = client_.elect("leader", std::move(options));
  world_.run_ready();
  world_.advance(59s);
  EXPECT_TRUE(one.is_leader());
  world_.advance(1s);
  EXPECT_FALSE(one.is_leader());
  EXPECT_THAT(story_, ElementsAre("one leads", "one ends: maximum hold"));
  EXPECT_TRUE(world_.log().contains("leader for as long as max_hold allows; stepping down"));
  world_.advance(11s);
  EXPECT_TRUE(one.is_leader()) << "nobody else wanted it";
}

TEST_F(ClientElection, ATtlOfItsOwnIsThatOfItsLeaderships) {
  ElectionOptions first = recorded("first");
  first.ttl = 2s;
  ElectionOptions second = recorded("second");
  second.ttl = 1h;
  Election one = client_.elect("leader", first);
  const Election another = other_.elect("leader", second);
  world_.run_ready();
  const MutexOwner owner = other_.owner("leader");
  EXPECT_EQ(owner.ttl_at() - owner.acquired_at(), 2s);
  world_.advance(1min);
  EXPECT_TRUE(one.is_leader());
  EXPECT_LE(one.lease_left(), 8s);
  one.step_down();
  world_.advance(1s);
  EXPECT_TRUE(another.is_leader());
  EXPECT_GT(another.lease_left(), 50min);
  EXPECT_THAT([&] { static_cast<void>(client_.elect("other", {.ttl = 0s})); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("ttl must be at least 1 ms")));
}

TEST_F(ClientElection, AnEndOfALeadershipThatWaitsForAThreadIsNoticed) {
  const auto runtime = std::make_shared<Runtime>(*world_.runtime());
  const auto busy = std::make_shared<testkit::ManualExecutor>();
  runtime->workers = busy;
  runtime->delays = DelayMonitor::make(runtime->clock, *runtime->timers, runtime->log);
  const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime)};
  ElectionOptions options = recorded("one");
  options.max_hold = 1min;
  const Election one = client.elect("leader", std::move(options));
  world_.advance(1min);
  EXPECT_TRUE(one.is_leader());
  EXPECT_EQ(runtime->delays->delayed(), 0U);
  world_.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 1U);
  EXPECT_TRUE(world_.log().contains(
      "the end of a leadership, or of the pause after it, of mutex [leader], contender [one]"));
  busy->run_all();
  EXPECT_FALSE(one.is_leader());
}

TEST_F(ClientElection, WithoutAnElectionItLeadsNothing) {
  Election none;
  EXPECT_FALSE(none.is_leader());
  EXPECT_EQ(none.health(), Health::out);
  EXPECT_TRUE(none.lost().stop_requested());
  EXPECT_EQ(none.fencing_token(), 0U);
  EXPECT_EQ(none.id(), "");
  none.step_down();
  none.stop();
  EXPECT_THROW(static_cast<void>(client_.elect("", {})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_.elect("leader", {.max_hold = -1s})), InvalidArgumentError);
}

TEST_F(ClientElection, OutlivesItsClient) {
  std::optional<Client> client{make_factory()};
  const Election one = client->elect("leader", recorded("one"));
  client.reset();
  world_.advance(5min);
  EXPECT_TRUE(one.is_leader());
}

// ---- schedules -------------------------------------------------------------------------------

TEST_F(ClientElection, AScheduleRunsOnTheLeaderAlone) {
  std::vector<FencingToken> runs;
  const auto work = [&](const simba::Run& run) {
    EXPECT_FALSE(run.stop().stop_requested());
    EXPECT_GT(run.lease_left(), 5s);
    runs.push_back(run.fencing_token());
  };
  Schedule one = client_.schedule("cleanup", every(30s), work);
  world_.run_ready();
  const Schedule two = other_.schedule("cleanup", every(30s), work, {.id = "two"});
  world_.advance(60s);
  EXPECT_TRUE(one.is_leader());
  EXPECT_FALSE(two.is_leader());
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_GT(runs.front(), 0U);
  EXPECT_EQ(runs.front(), runs.back());
  EXPECT_GT(one.lease_left(), 5s);
  EXPECT_EQ(two.lease_left(), 0s);
  one.stop();
  EXPECT_EQ(one.lease_left(), 0s);
  world_.advance(1s);
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_GT(runs.back(), runs.front());
}

TEST_F(ClientElection, AScheduleTellsItsHealth) {
  const auto work = [](const simba::Run&) {};
  EXPECT_EQ(Schedule{}.health(), Health::out);
  const Schedule one = client_.schedule("cleanup", every(30s), work, {.id = "twin"});
  world_.run_ready();
  EXPECT_EQ(one.health(), Health::well);
  store_->cut();
  world_.advance(11s);
  EXPECT_EQ(one.health(), Health::troubled);
  store_->mend();
  world_.advance(10s);
  EXPECT_EQ(one.health(), Health::well);
  const Schedule two = other_.schedule("cleanup", every(30s), work, {.id = "twin"});
  world_.advance(30s);
  EXPECT_EQ(one.health(), Health::out);
  EXPECT_EQ(two.health(), Health::well);
}

TEST_F(ClientElection, AScheduleWaitsForNoCallbackThread) {
  const auto blocked = std::make_shared<testkit::ManualExecutor>();
  auto runtime = std::make_shared<Runtime>(*world_.runtime());
  runtime->callbacks = blocked;
  const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime)};
  int runs = 0;
  Schedule schedule = client.schedule("cleanup", every(1s), [&](const simba::Run&) { ++runs; });
  world_.advance(2s);
  EXPECT_EQ(runs, 3);
  store_->cut();
  world_.advance(11s);
  EXPECT_EQ(schedule.health(), Health::troubled);
  schedule.stop();
  EXPECT_EQ(blocked->size(), 0U);
}

TEST_F(ClientElection, ALeaderWhoseRenewalsFailIsTroubledAlsoWhileACallbackRuns) {
  Election one;
  one = client_.elect("leader", {.on_elected = [&](const Leadership&) {
                        store_->cut();
                        world_.advance(1s);
                        EXPECT_EQ(one.health(), Health::well);
                        world_.advance(10s);
                        EXPECT_TRUE(one.is_leader());
                        EXPECT_EQ(one.health(), Health::troubled);
                      }});
  world_.run_ready();
  EXPECT_EQ(one.health(), Health::troubled);
}

TEST_F(ClientElection, AnExecutorThatHasStoppedDoesNotKeepAScheduleThatIsGone) {
  const auto stopped = std::make_shared<testkit::ManualExecutor>();
  std::weak_ptr<const Runtime> weak;
  {
    const auto runtime = std::make_shared<Runtime>(*world_.runtime());
    weak = runtime;
    const Client client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime),
                        {.executor = stopped}};
    const Schedule schedule =
        client.schedule("cleanup", every(30s), [](const simba::Run&) { FAIL() << "it is gone"; });
    world_.run_ready();
    EXPECT_EQ(stopped->size(), 1U);
  }
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(stopped.use_count(), 1);
  stopped->run_all();
}

TEST_F(ClientElection, AScheduleMayPauseBetweenRuns) {
  int runs = 0;
  const Schedule one =
      client_.schedule("cleanup", after_pauses_of(10s), [&](const simba::Run&) { ++runs; });
  world_.advance(25s);
  EXPECT_EQ(runs, 3);
  EXPECT_THROW(static_cast<void>(every(0s)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_.schedule("cleanup", every(1s), {})), InvalidArgumentError);
}

// ---- watches ---------------------------------------------------------------------------------

TEST_F(ClientElection, AWatchSeesEveryOwner) {
  std::vector<std::string> seen;
  Watch watch =
      client_.watch("leader", [&](const MutexOwner& now) { seen.push_back(now.owner_id()); });
  world_.run_ready();
  Lock lock = other_.lock("leader", {.id = "me"});
  world_.run_ready();
  EXPECT_EQ(watch.owner().owner_id(), "me");
  lock.unlock();
  world_.run_ready();
  watch.stop();
  lock = other_.lock("leader", {.id = "unseen"});
  world_.run_ready();
  EXPECT_THAT(seen, ElementsAre("me", ""));
  EXPECT_EQ(Watch{}.owner(), MutexOwner::none());
  EXPECT_THROW(static_cast<void>(client_.watch("leader", {})), InvalidArgumentError);
}

TEST_F(ClientElection, OneLookTellsTheOwner) {
  EXPECT_EQ(client_.owner("leader"), MutexOwner::none());
  const Lock lock = other_.lock("leader", {.id = "me"});
  const MutexOwner owner = client_.owner("leader");
  EXPECT_EQ(owner.owner_id(), "me");
  EXPECT_EQ(owner.fencing_token(), lock.fencing_token());
  EXPECT_TRUE(owner.has_owner());
  EXPECT_EQ(owner, client_.owner("leader"));
  std::ostringstream text;
  text << owner << ", " << MutexOwner::none() << ", " << Health::well;
  EXPECT_THAT(text.str(), HasSubstr("me (fencing token"));
  EXPECT_THAT(text.str(), HasSubstr("nobody, well"));
  store_->black_hole();
  const LocalTime before = world_.now();
  EXPECT_THROW(static_cast<void>(client_.owner("leader")), Error);
  EXPECT_LE(world_.now() - before, 5s);
  EXPECT_THROW(static_cast<void>(client_.owner("")), InvalidArgumentError);
}

TEST_F(ClientElection, BadInputIsRefusedWithItsValueAndBound) {
  const auto refused = [](const auto& call, const char* why) {
    EXPECT_THAT(call, ThrowsMessage<InvalidArgumentError>(HasSubstr(why)));
  };
  const std::string endless(1'000'000, 'x');
  for (const std::string& name : {std::string{}, endless}) {
    const char* const why = name.empty() ? "mutex name must not be blank" : "too long";
    refused([&] { static_cast<void>(client_.elect(name, {})); }, why);
    refused([&] { static_cast<void>(client_.schedule(name, every(1s), [](const simba::Run&) {})); },
            why);
    refused([&] { static_cast<void>(client_.watch(name, [](const MutexOwner&) {})); }, why);
    refused([&] { static_cast<void>(client_.owner(name)); }, why);
  }
  refused([&] { static_cast<void>(client_.elect("leader", {.id = endless})); }, "too long");
  refused([&] { static_cast<void>(client_.elect("leader", {.id = " "})); },
          "contender id must not be blank");
  refused(
      [&] {
        static_cast<void>(
            client_.schedule("work", every(1s), [](const simba::Run&) {}, {.id = endless}));
      },
      "too long");
  refused([&] { static_cast<void>(client_.elect("leader", {.max_hold = 0s})); },
          "max_hold must be positive (got 0 ns)");
  refused([] { static_cast<void>(every(-1s)); }, "period must be positive");
  refused([] { static_cast<void>(after_pauses_of(0s)); }, "must be positive");
  EXPECT_EQ(client_.owner("leader"), MutexOwner::none());
}

TEST_F(ClientElection, EndlessTimesAreNoLimit) {
  ElectionOptions options = recorded("one");
  options.max_hold = std::chrono::hours::max();
  const Election one = client_.elect("leader", options);
  int runs = 0;
  const Schedule rare = client_.schedule("rare", every(std::chrono::hours::max()),
                                         [&](const simba::Run&) { ++runs; });
  const Schedule once =
      client_.schedule("once", after_pauses_of(forever), [&](const simba::Run&) { ++runs; });
  world_.advance(1h);
  EXPECT_TRUE(one.is_leader());
  EXPECT_EQ(runs, 2);
}

TEST_F(ClientElection, AnIdCanTellWhereTheLeaderIs) {
  const Election one = client_.elect("leader", {.id = id_with_endpoint("10.0.0.7:8080")});
  world_.run_ready();
  EXPECT_EQ(endpoint(other_.owner("leader")), "10.0.0.7:8080");
  EXPECT_NE(id_with_endpoint("a"), id_with_endpoint("a"));
  EXPECT_EQ(endpoint(MutexOwner::none()), std::nullopt);
  for (const std::string& id :
       {std::string{"0:12345@192.168.1.100"}, ContenderIdGenerator::unique().generate(),
        ContenderIdGenerator::host().generate(), std::string{"host:80#simba-"},
        std::string{"host:80#simba-0123456789abcdef0123456789abcdeX"},
        std::string{"#simba-0123456789abcdef0123456789abcdef"}}) {
    EXPECT_EQ(endpoint_of(id), std::nullopt) << id;
  }
  EXPECT_THROW(static_cast<void>(id_with_endpoint("")), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(id_with_endpoint("a#b")), InvalidArgumentError);
}

}  // namespace
}  // namespace simba
