#include "core/host_list.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string refusal_of(std::string_view text, std::string_view where = {},
                       BareIpv6 bare_ipv6 = BareIpv6::refused) {
  try {
    parse_hosts(text, where, bare_ipv6);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HostList, HasHostsWithAndWithoutPorts) {
  EXPECT_THAT(parse_hosts("db1, db2:7000 ,[::1]:65535,[fe80::1%eth0]"),
              ElementsAre(HostPort{"db1", {}}, HostPort{"db2", 7000}, HostPort{"::1", 65535},
                          HostPort{"fe80::1%eth0", {}}));
}

TEST(HostList, IsWrittenAsItIsRead) {
  const std::string text = "db1:1,[::1]:7000,/run/postgresql";
  EXPECT_EQ(hosts_text(parse_hosts(text), 1), text);
  EXPECT_EQ(hosts_text(parse_hosts("db1,[::1]"), 7000), "db1:7000,[::1]:7000");
}

TEST(HostList, TakesAnIpv6AddressWithoutBracketsOnlyWherePortsHaveAnOptionOfTheirOwn) {
  EXPECT_THAT(refusal_of("::1:7000"), HasSubstr("write an IPv6 address in brackets"));
  EXPECT_THAT(
      parse_hosts("::1:7000,fe80::1%eth0,db:1", {}, BareIpv6::accepted),
      ElementsAre(HostPort{"::1:7000", {}}, HostPort{"fe80::1%eth0", {}}, HostPort{"db", 1}));
  EXPECT_THAT(refusal_of("db:1:2", {}, BareIpv6::accepted), HasSubstr("several colons"));
}

TEST(HostList, TakesTheDirectoryOfAUnixSocketAsAWhole) {
  EXPECT_THAT(parse_hosts("/run/a b:1,db"),
              ElementsAre(HostPort{"/run/a b:1", {}}, HostPort{"db", {}}));
  EXPECT_THAT(refusal_of("/run/\x1b[2J"), HasSubstr("characters that are not allowed in a path"));
}

TEST(HostList, SaysWhatIsWrongAndWhereWithoutShowingWhatMayBeAPassword) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "empty host"},
      {"a,", "empty host"},
      {"a,,b", "empty host"},
      {"hunter2 b", "a host contains characters that are not allowed in a name or an address"},
      {"user@hunter2", "a host contains characters that are not allowed in a name or an address"},
      {"user:hunter2", "port must be a number between 1 and 65535"},
      {"a:0", "port must be between 1 and 65535 (got 0)"},
      {"a:65536", "port must be between 1 and 65535 (got 65536)"},
      {"[::1", "missing ']'"},
      {"[::1]hunter2", "only a port may follow an address in brackets"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(refusal_of(text, "connect_string"),
                AllOf(StartsWith("connect_string: " + expected), HasSubstr("for example db1,"),
                      Not(HasSubstr("hunter2"))))
        << text;
  }
}

}  // namespace
}  // namespace simba::detail
