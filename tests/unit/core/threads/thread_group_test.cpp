#include "core/threads/thread_group.hpp"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba::detail {
namespace {

using namespace std::chrono_literals;
using test::Gate;

TEST(BoundedThreads, AreJoinedWithAllTheyHeldWhenTheyEndInTime) {
  BoundedThreads threads;
  const auto held = std::make_shared<int>(1);
  for (int i = 0; i < 3; ++i) threads.start("bounded", [held] {});
  EXPECT_TRUE(threads.join_or_let_go(30s));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(threads.size(), 0U);
}

TEST(BoundedThreads, AreLetGoWhenOneDoesNotEndInTime) {
  const auto go_on = std::make_shared<Gate>();
  auto threads = std::make_unique<BoundedThreads>();
  threads->start("bounded", [] {});
  threads->start("bounded", [go_on] { go_on->opens(); });
  EXPECT_FALSE(threads->join_or_let_go(1ms));
  EXPECT_EQ(threads->size(), 0U);

  threads->start("bounded", [go_on] { go_on->opens(); });
  threads.reset();
  EXPECT_TRUE(test::eventually([] { return test::threads_named("bounded") == 2; }))
      << "neither is waited for";
  go_on->open();
  EXPECT_TRUE(test::eventually([] { return test::threads_named("bounded") == 0; }));
}

TEST(BoundedThreads, AreNotWaitedForByOneOfThem) {
  auto threads = std::make_shared<BoundedThreads>();
  Gate started;
  Gate gone;
  threads->start("bounded", [&] {
    started.opens();
    EXPECT_TRUE(threads->contains_this_thread());
    EXPECT_FALSE(threads->join_or_let_go(1h));
    threads.reset();
    gone.open();
  });
  started.open();
  EXPECT_TRUE(gone.opens());
}

}  // namespace
}  // namespace simba::detail
