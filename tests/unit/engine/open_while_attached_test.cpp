#include "engine/open_while_attached.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "unit/core/forked.hpp"
#include "unit/core/gate.hpp"

namespace simba::engine {
namespace {

struct Connections {
  void close() {
    ++closed;
    if (on_close) on_close();
  }
  int closed = 0;
  std::function<void()> on_close{};
};

struct Store : std::enable_shared_from_this<Store> {
  std::shared_ptr<void> attach() {
    return open.attach(shared_from_this(), [this] {
      last = std::make_shared<Connections>();
      ++opened;
      return last;
    });
  }
  std::string refusal() const {
    try {
      open.get();
    } catch (const Error& error) {
      return error.kind() == ErrorKind::unavailable ? error.what() : "of another kind";
    }
    return {};
  }

  OpenWhileAttached<Connections> open{"test"};
  std::shared_ptr<Connections> last{};
  int opened = 0;
};

TEST(OpenWhileAttached, IsOpenedByTheFirstAndClosedByTheLastUser) {
  const auto store = std::make_shared<Store>();
  EXPECT_EQ(store->refusal(), "the test store is closed");
  for (int round = 1; round <= 2; ++round) {
    auto one = store->attach();
    auto two = store->attach();
    EXPECT_EQ(store->opened, round);
    EXPECT_EQ(store->open.get(), store->last);
    one.reset();
    EXPECT_EQ(store->last->closed, 0);
    two.reset();
    EXPECT_EQ(store->last->closed, 1);
    EXPECT_EQ(store->refusal(), "the test store is closed");
  }
}

TEST(OpenWhileAttached, HasNoUserWhoseOpeningFailed) {
  const auto store = std::make_shared<Store>();
  EXPECT_THROW(
      store->open.attach(
          store, []() -> std::shared_ptr<Connections> { throw std::runtime_error{"no thread"}; }),
      std::runtime_error);
  store->attach().reset();
  EXPECT_EQ(store->opened, 1);
  EXPECT_EQ(store->last->closed, 1);
}

TEST(OpenWhileAttached, IsOpenedAnewByOneWhoComesWhileItCloses) {
  const auto store = std::make_shared<Store>();
  auto user = store->attach();
  const auto first = store->last;
  std::shared_ptr<void> next;
  first->on_close = [&] {
    EXPECT_EQ(store->refusal(), "the test store is closed");
    next = store->attach();
  };
  user.reset();
  EXPECT_EQ(store->opened, 2);
  EXPECT_NE(store->open.get(), first);
  next.reset();
  EXPECT_EQ(store->last->closed, 1);
}

TEST(OpenWhileAttached, KeepsItsStoreWhileSomeoneIsAttached) {
  auto store = std::make_shared<Store>();
  const std::weak_ptr<Store> weak = store;
  auto user = store->attach();
  store.reset();
  EXPECT_FALSE(weak.expired());
  user.reset();
  EXPECT_TRUE(weak.expired());
}

TEST(OpenWhileAttached, IsLeftAloneInAForkedChildWhoeverWasAtIt) {
  auto store = std::make_shared<Store>();
  auto user = store->attach();
  auto connections = std::weak_ptr{std::exchange(store->last, nullptr)};
  test::Gate opening;
  test::Gate go_on;
  Store other;  // whose lock is held at the moment of the fork
  std::thread holder{[&] {
    const auto another = other.open.attach(store, [&] {
      opening.open();
      go_on.opens();
      return std::make_shared<Connections>();
    });
  }};
  ASSERT_TRUE(opening.opens());
  EXPECT_TRUE(test::in_forked_child([&] {
    const std::string refused =
        "this test store belongs to the parent process; create a new one after fork()";
    const bool good = store->refusal() == refused && other.refusal() == refused &&
                      !store->attach() &&
                      !other.open.attach(store, [] { return std::make_shared<Connections>(); });
    user.reset();
    store.reset();
    const auto left = connections.lock();
    return good && left && left->closed == 0;
  }));
  go_on.open();
  holder.join();
}

}  // namespace
}  // namespace simba::engine
