// What a machine makes of a mutex that one of the same id before it has got, or may have.
#include "machine_driver.hpp"

namespace simba::engine {
namespace {

using Phase = ContentionMachine::Phase;

TEST(ContentionMachineInheriting, OneThatIsStoppedGivesItBackAndCorrectsTheToken) {
  MachineDriver driver;
  const Actions actions = driver.step(Inherited{.token = 0});
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::release);
  const Actions again = driver.answer(*actions.send, driver.mine(7));
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->token, 7U);
  EXPECT_TRUE(driver.answer(*again.send, driver.free()).settled);
}

TEST(ContentionMachineInheriting, OneThatWaitsAsksAtOnce) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 1));
  driver.pass(1s);
  const Actions actions = driver.step(Inherited{.token = 2});
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::acquire);
  EXPECT_FALSE(actions.give_back);
}

TEST(ContentionMachineInheriting, OneThatOwnsGoesOnAndReleasesTheNewerToken) {
  MachineDriver driver;
  driver.own(3);
  const Actions actions = driver.step(Inherited{.token = 4});
  EXPECT_FALSE(actions.give_back);
  EXPECT_EQ(driver.phase(), Phase::owning);
  const Actions stopped = driver.step(Stop{});
  ASSERT_TRUE(stopped.drain);
  const Actions released = driver.step(Drained{.drain = *stopped.drain});
  ASSERT_TRUE(released.send);
  EXPECT_EQ(released.send->token, 4U);
}

TEST(ContentionMachineInheriting, OneThatReleasesDoesSoOnceMore) {
  MachineDriver driver;
  driver.own(3);
  const Actions stopped = driver.step(Stop{});
  ASSERT_TRUE(stopped.drain);
  const Actions released = driver.step(Drained{.drain = *stopped.drain});
  ASSERT_TRUE(released.send);
  driver.step(Inherited{.token = 4});
  const Actions again = driver.answer(*released.send, driver.free());
  EXPECT_FALSE(again.settled);
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->token, 4U);
  EXPECT_TRUE(driver.answer(*again.send, driver.free()).settled);
}

}  // namespace
}  // namespace simba::engine
