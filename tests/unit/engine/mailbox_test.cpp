#include "engine/mailbox.hpp"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/runtime.hpp"

namespace simba::engine {
namespace {

struct Handler {
  std::function<void(int)> on_event;
  std::function<void()> on_rest = [] {};
  void handle(int event) { on_event(event); }
  void rest() { on_rest(); }
};

std::shared_ptr<const Runtime> quiet_runtime() {
  RuntimeOptions options;
  options.log = make_null_logger();
  return make_runtime(options);
}

TEST(Mailbox, HandlesEventsOnTheThreadThatPostsThem) {
  Mailbox<int> mailbox;
  std::thread::id thread;
  Handler handler{.on_event = [&](int) { thread = std::this_thread::get_id(); }};
  mailbox.post(1, handler);
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(Mailbox, HandlesWhatAHandlerPostsAfterTheHandlerHasReturned) {
  Mailbox<int> mailbox;
  std::string order;
  Handler handler;
  handler.on_event = [&](int event) {
    if (event == 1) mailbox.post(2, handler);
    order += std::to_string(event);
  };
  handler.on_rest = [&] { order += "r"; };
  mailbox.post(1, handler);
  EXPECT_EQ(order, "12r");
}

TEST(Mailbox, KeepsTheOrderOfWhatHandlersPost) {
  Mailbox<int> mailbox;
  std::string order;
  Handler handler;
  handler.on_event = [&](int event) {
    order += std::to_string(event);
    if (event == 1) {
      for (const int next : {2, 3, 4}) mailbox.post(next, handler);
    }
    if (event == 2) mailbox.post(5, handler);
    if (event == 4) mailbox.post(6, handler);
  };
  handler.on_rest = [&] { order += "r"; };
  mailbox.post(1, handler);
  EXPECT_EQ(order, "123456r");
}

TEST(Mailbox, HandlesWhatIsPostedWhileItCameToRest) {
  Mailbox<int> mailbox;
  std::string order;
  Handler handler{.on_event = [&](int event) { order += std::to_string(event); }};
  handler.on_rest = [&] {
    if (order == "1") mailbox.post(2, handler);
    order += "r";
  };
  mailbox.post(1, handler);
  EXPECT_EQ(order, "1r2r");
}

TEST(Mailbox, HandlesEventsOfManyThreadsOneAtATime) {
  Mailbox<int> mailbox;
  int unguarded = 0;  // ThreadSanitizer would see two handlers at once
  Handler handler{.on_event = [&](int event) { unguarded += event; }};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1'000; ++i) mailbox.post(1, handler);
      });
    }
  }
  mailbox.post(0, handler);
  EXPECT_EQ(unguarded, 4'000);
}

TEST(Mailbox, WaitsUntilAnotherThreadHasHandledTheEvent) {
  Mailbox<int> mailbox;
  const auto runtime = quiet_runtime();
  std::promise<void> busy;
  std::promise<void> go_on;
  int last = 0;
  Handler handler{.on_event = [&](int event) {
    if (event == 1) {
      busy.set_value();
      go_on.get_future().wait();
    }
    last = event;
  }};
  std::jthread first{[&] { mailbox.post(1, handler); }};
  busy.get_future().wait();
  std::jthread releaser{[&] { go_on.set_value(); }};
  mailbox.post_and_wait(2, handler, *runtime->waiter, never);
  EXPECT_EQ(last, 2);
}

TEST(Mailbox, DoesNotWaitInsideAHandler) {
  Mailbox<int> mailbox;
  const auto runtime = quiet_runtime();
  std::string order;
  Handler handler;
  handler.on_event = [&](int event) {
    if (event == 1) mailbox.post_and_wait(2, handler, *runtime->waiter, never);
    order += std::to_string(event);
  };
  mailbox.post(1, handler);
  EXPECT_EQ(order, "12");
}

TEST(Mailbox, AnEventMayBeTheLastToHoldWhatPostsAtItsEnd) {
  struct Runner {
    void handle(const std::function<void()>& event) { event(); }
    void rest() {}
  } runner;
  Mailbox<std::function<void()>> mailbox;
  bool posted = false;
  std::shared_ptr<void> last{nullptr, [&](void*) { mailbox.post([&] { posted = true; }, runner); }};
  mailbox.post([held = std::move(last)] {}, runner);
  EXPECT_TRUE(posted);
}

}  // namespace
}  // namespace simba::engine
