#include "zookeeper/client/c_session.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include "simba/zookeeper/zookeeper_factory.hpp"
#include "support/patience.hpp"
#include "unit/core/own_threads.hpp"
#include "unit/core/without_system_calls.hpp"

namespace simba::zookeeper {
namespace {

using namespace std::chrono_literals;

auto threads() { return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {}); }

// Its job stays queued for the next thread that there is. It must not open a session then, which
// nobody would close: the library would go on with what has been freed.
TEST(ZooKeeperCSession, OneForWhichThereIsNoThreadIsNotOpenedLater) {
  ZooKeeperOptions options;
  options.connect_string = "127.0.0.1:1";
  const auto settings = std::make_shared<const Settings>(checked_settings(options));
  const auto thread =
      std::make_shared<detail::OnDemandThread>("simba-zk", "a job threw", make_null_logger());
  auto user = std::make_shared<int>(0);
  const std::weak_ptr<int> used = user;
  std::thread{[] {}}.join();  // ThreadSanitizer makes its own with the first one
  const auto before = threads();

  test::without_system_calls({SYS_clone, SYS_clone3}, EAGAIN, [&] {
    EXPECT_THROW(CSession::begin(
                     settings, [user](const ClientEvent& /*event*/) { FAIL() << "an event"; },
                     thread, make_null_logger()),
                 std::system_error);
  });
  user.reset();

  thread->post([] {});
  ASSERT_TRUE(thread->wait(support::scaled(30s)));
  EXPECT_TRUE(used.expired()) << "whoever asked for it is let go";
  EXPECT_TRUE(test::eventually([&] { return threads() <= before; })) << "the library has threads";
}

}  // namespace
}  // namespace simba::zookeeper
