#include "core/host_address.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <list>
#include <net/if.h>

#include <gtest/gtest.h>

namespace simba::detail {
namespace {

/// A list of interfaces as getifaddrs gives it.
class Interfaces {
 public:
  Interfaces& add(const char* address, unsigned flags = IFF_UP) {
    auto& entry = entries_.emplace_back();
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    if (::inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
      v4.sin_family = AF_INET;
      std::memcpy(&entry.address, &v4, sizeof v4);
    } else if (::inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
      v6.sin6_family = AF_INET6;
      std::memcpy(&entry.address, &v6, sizeof v6);
    }
    entry.interface.ifa_flags = flags;
    void* raw = &entry.address;
    entry.interface.ifa_addr = static_cast<sockaddr*>(raw);
    if (entries_.size() > 1) std::prev(entries_.end(), 2)->interface.ifa_next = &entry.interface;
    return *this;
  }

  Interfaces& add_without_address() {
    add("");
    entries_.back().interface.ifa_addr = nullptr;
    return *this;
  }

  std::string pick() const {
    return pick_address(entries_.empty() ? nullptr : &entries_.front().interface);
  }

 private:
  struct Entry {
    ifaddrs interface {};
    sockaddr_storage address{};
  };
  std::list<Entry> entries_;
};

TEST(HostAddress, IsTheFirstIpv4AddressThatIsNotLoopback) {
  EXPECT_EQ(
      Interfaces{}.add("127.0.0.1", IFF_UP | IFF_LOOPBACK).add("10.0.0.5").add("10.0.0.6").pick(),
      "10.0.0.5");
}

TEST(HostAddress, PrefersIpv4ToIpv6) {
  EXPECT_EQ(Interfaces{}.add("2001:db8::1").add("10.0.0.5").pick(), "10.0.0.5");
}

TEST(HostAddress, IsTheFirstGlobalIpv6AddressWhereThereIsNoIpv4) {
  EXPECT_EQ(
      Interfaces{}.add("::").add("::1").add("fe80::1").add("2001:db8::1").add("2001:db8::2").pick(),
      "2001:db8::1");
}

TEST(HostAddress, SkipsInterfacesThatAreDownOrHaveNoUsableAddress) {
  EXPECT_EQ(Interfaces{}
                .add("10.0.0.1", 0)
                .add_without_address()
                .add("")
                .add("0.0.0.0")
                .add("127.8.8.8")
                .add("10.0.0.2")
                .pick(),
            "10.0.0.2");
}

TEST(HostAddress, IsLocalhostWhereThereIsNothingElse) {
  EXPECT_EQ(Interfaces{}.pick(), "127.0.0.1");
  EXPECT_EQ(Interfaces{}.add("10.0.0.1", IFF_UP | IFF_LOOPBACK).pick(), "127.0.0.1");
}

TEST(HostAddress, OfThisHostIsNotEmpty) { EXPECT_FALSE(host_address().empty()); }

}  // namespace
}  // namespace simba::detail
