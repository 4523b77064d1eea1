#include <cstdio>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "chaos/faults/detour_table.hpp"
#include "chaos/shared_page.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/temporary_folder.hpp"

namespace simba::chaos {
namespace {

constexpr std::uint16_t nowhere = 9;  // a port where nobody listens

TEST(ChaosDetour, IsTheSamePortWhereThereIsNone) {
  support::TemporaryFolder folder;
  const SharedPage<DetourTable> table{folder.path() / "detours"};
  EXPECT_EQ(table->find(80), 80);
  EXPECT_TRUE(table->add(80, 8'080));
  EXPECT_TRUE(table->add(81, 65'535));
  EXPECT_EQ(table->find(80), 8'080);
  EXPECT_EQ(table->find(81), 65'535);
  EXPECT_EQ(table->find(8'080), 8'080);
  EXPECT_EQ(table->find(0), 0);
}

TEST(ChaosDetour, SaysWhenTheTableIsFull) {
  support::TemporaryFolder folder;
  const SharedPage<DetourTable> table{folder.path() / "detours"};
  for (std::uint16_t i = 1; i <= DetourTable::size; ++i) {
    EXPECT_TRUE(table->add(i, 1));
  }
  EXPECT_FALSE(table->add(1'000, 1));
}

class ChaosDetourOfProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(ChaosDetourOfProgram, LeadsThereThoughTheProgramKnowsNothingOfIt) {
  support::TemporaryFolder folder;
  const auto file = folder.path() / "detours";
  const SharedPage<DetourTable> table{file};
  const support::FaultProxy proxy{"127.0.0.1", nowhere};
  const auto connect = [&] {
    const auto command =
        fmt::format("SIMBA_DETOURS={} LD_PRELOAD={} bash -c 'exec 3<>/dev/tcp/{}/{}' 2>&1",
                    file.string(), SIMBA_CHAOS_DETOUR, GetParam(), nowhere);
    FILE* const stream = ::popen(command.c_str(), "r");
    return stream == nullptr ? -1 : ::pclose(stream);
  };
  EXPECT_NE(connect(), 0) << "nobody listens there";
  EXPECT_EQ(proxy.counters().connections, 0U);
  ASSERT_TRUE(table->add(nowhere, proxy.port()));
  EXPECT_EQ(connect(), 0);
  EXPECT_TRUE(support::eventually([&] { return proxy.counters().connections == 1; }));
}

/// As most programs connect, and as Java does. Where the machine has no IPv6, nobody has sockets of
/// it.
std::vector<const char*> addresses() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket == -1) {
    return {"127.0.0.1"};
  }
  ::close(socket);
  return {"127.0.0.1", "::ffff:127.0.0.1"};
}

INSTANTIATE_TEST_SUITE_P(Addresses, ChaosDetourOfProgram, ::testing::ValuesIn(addresses()));

}  // namespace
}  // namespace simba::chaos
