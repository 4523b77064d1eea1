// libsimba-detour.so: for LD_PRELOAD. Sends connections to ports of 127.0.0.1 elsewhere, as the
// file says that the variable SIMBA_DETOURS names (detour_table.hpp). So a program reaches every
// server by a proxy of its own, also one whose address it was told by another server.
#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chaos/faults/detour_table.hpp"

namespace {

using simba::chaos::DetourTable;

const DetourTable* open_table() noexcept {
  const char* const file = std::getenv("SIMBA_DETOURS");
  const int descriptor = file != nullptr ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor == -1) {
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, sizeof(DetourTable), PROT_READ, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  return memory == MAP_FAILED ? nullptr : static_cast<const DetourTable*>(memory);
}

/// Leads a connection to 127.0.0.1 by the table; other ones and other kinds stay as they are.
/// `address` is that of a socket of IPv4, or of IPv6 where it stands for one of IPv4, as Java has
/// it.
void redirect(sockaddr_storage& address, const DetourTable& table) noexcept {
  constexpr std::size_t prefix = 12;  // of an IPv6 address, before that of IPv4
  in_addr host{};
  in_port_t* port = nullptr;
  if (address.ss_family == AF_INET) {
    auto& there = reinterpret_cast<sockaddr_in&>(address);
    host = there.sin_addr;
    port = &there.sin_port;
  } else if (address.ss_family == AF_INET6) {
    auto& there = reinterpret_cast<sockaddr_in6&>(address);
    if (IN6_IS_ADDR_V4MAPPED(&there.sin6_addr)) {
      std::memcpy(&host, there.sin6_addr.s6_addr + prefix, sizeof host);
      port = &there.sin6_port;
    }
  }
  if (port != nullptr && host.s_addr == htonl(INADDR_LOOPBACK)) {
    *port = htons(table.find(ntohs(*port)));
  }
}

}  // namespace

extern "C" int connect(int socket, const sockaddr* address, socklen_t length) {
  static const DetourTable* const table = open_table();
  sockaddr_storage there{};
  if (table == nullptr || address == nullptr || length > sizeof there) {
    return static_cast<int>(::syscall(SYS_connect, socket, address, length));
  }
  std::memcpy(&there, address, length);
  redirect(there, *table);
  return static_cast<int>(::syscall(SYS_connect, socket, &there, length));
}
