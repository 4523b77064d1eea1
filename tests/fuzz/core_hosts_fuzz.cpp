// Feeds texts to what reads lists of hosts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/host_list.hpp"
#include "fuzz/support.hpp"
#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using fuzz::check;

/// An exception other than Error is a find.
void run_core_hosts(std::string_view text) {
  constexpr std::uint16_t default_port = 6379;
  try {
    auto hosts = parse_hosts(text);
    const auto commas = static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
    check(hosts.size() <= commas + 1 && !hosts.empty(), "there are as many hosts as commas tell");
    for (HostPort& host : hosts) {
      check(!host.host.empty() && fuzz::prints(host.host), "a host has a name that prints");
      check(host.port != 0, "a port is not 0");
      if (!host.port && !host.host.starts_with('/')) host.port = default_port;
    }
    check(parse_hosts(hosts_text(hosts, 1)) == hosts, "hosts are read as they are written");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::invalid_argument, "it is a fault of the list");
    check(fuzz::prints(error.what()), "a message prints");
    // The message is one of a few, so it can have nothing of what was given.
    check(std::string_view{error.what()}.size() < 250, "a message is short");
  }
}

}  // namespace
}  // namespace simba::detail

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::detail::run_core_hosts({reinterpret_cast<const char*>(data), size});
  return 0;
}
