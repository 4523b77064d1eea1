#include "redis/connection/resolver.hpp"

#include <future>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/threads/event_loop.hpp"
#include "simba/core/log.hpp"
#include "unit/redis/name_lookup.hpp"

namespace simba::redis {
namespace {

using testing::HasSubstr;

class ResolverTest : public testing::Test {
 protected:
  ~ResolverTest() override { io_.stop(); }

  Addresses resolve(const std::string& host) {
    std::promise<Addresses> found;
    io_.post([&] {
      Resolver::start(*io_.loop(), host, 6379,
                      [&](const Addresses& addresses) { found.set_value(addresses); });
    });
    return found.get_future().get();
  }

  detail::LoopThread io_{"simba-redis", "a task threw", std::make_shared<detail::ThreadGroup>(),
                         make_null_logger()};
};

TEST_F(ResolverTest, TakesAddressesAsTheyAre) {
  const auto four = std::get<std::vector<Address>>(resolve("127.0.0.1"));
  ASSERT_EQ(four.size(), 1U);
  EXPECT_EQ(four[0].protocol().family(), AF_INET);
  const auto six = std::get<std::vector<Address>>(resolve("::1"));
  ASSERT_EQ(six.size(), 1U);
  EXPECT_EQ(six[0].protocol().family(), AF_INET6);
}

TEST_F(ResolverTest, FindsTheAddressesOfAName) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  EXPECT_FALSE(std::get<std::vector<Address>>(resolve("localhost")).empty());
}

TEST_F(ResolverTest, NamesWhatItCannotFind) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  for (const std::string host : {"no-such-host.invalid", "", "a b"}) {
    const auto error = std::get<Error>(resolve(host));
    EXPECT_EQ(error.kind(), ErrorKind::unavailable) << host;
    EXPECT_THAT(error.what(), HasSubstr("'" + host + "'"));
  }
}

TEST_F(ResolverTest, SaysNothingAfterItIsCancelled) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  std::promise<void> done;
  bool answered = false;
  io_.post([&] {
    for (const std::string host : {"no-such-host.invalid", "127.0.0.1"}) {
      Resolver::start(*io_.loop(), host, 1, [&](const Addresses&) { answered = true; })->cancel();
    }
    done.set_value();
  });
  done.get_future().get();
  io_.stop();
  EXPECT_FALSE(answered);
}

TEST_F(ResolverTest, MayBeUnderWayWhenTheLoopEnds) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  io_.post([&] {
    for (int i = 0; i < 50; ++i) {
      Resolver::start(*io_.loop(), "no-such-host.invalid", 1, [](const Addresses&) {});
    }
  });
  io_.stop();
}

}  // namespace
}  // namespace simba::redis
