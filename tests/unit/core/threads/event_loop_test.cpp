#include "core/threads/event_loop.hpp"

#include <future>
#include <memory>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "simba/core/log.hpp"
#include "support/patience.hpp"

namespace simba::detail {
namespace {

std::unique_ptr<LoopThread> make() {
  return std::make_unique<LoopThread>("simba-loop", "a task threw", std::make_shared<ThreadGroup>(),
                                      make_null_logger());
}

TEST(LoopThread, RunsWhatIsPostedAlsoAfterATaskThatThrows) {
  const auto io = make();
  std::promise<void> ran;
  io->post([] { throw std::runtime_error{"the fault of a task"}; });
  io->post([&] { ran.set_value(); });
  ran.get_future().get();
}

TEST(LoopThread, RunsWhatWasPostedBeforeItStops) {
  const auto io = make();
  int ran = 0;
  for (int i = 0; i < 100; ++i) io->post([&] { ++ran; });
  io->stop();
  io->stop();
  EXPECT_EQ(ran, 100);
}

TEST(LoopThread, FreesWhatIsPostedAfterItHasStopped) {
  auto io = make();
  const auto held = std::make_shared<int>(1);
  io->stop();
  io->post([held] {});
  io.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(LoopThread, MayBeDestroyedOnItself) {
  auto io = make();
  std::promise<void> posted;
  std::promise<void> gone;
  io->post([&] {
    posted.get_future().get();
    io.reset();
    gone.set_value();
  });
  posted.set_value();
  gone.get_future().get();
}

TEST(LoopThread, IsLeftAloneInAForkedChild) {
  auto io = make();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    io.reset();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace simba::detail
