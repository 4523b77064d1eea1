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

#include "chaos/detour_table.hpp"

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

}  // namespace

extern "C" int connect(int socket, const sockaddr* address, socklen_t length) {
  static const DetourTable* const table = open_table();
  sockaddr_in there{};
  if (table != nullptr && address != nullptr && address->sa_family == AF_INET &&
      length >= sizeof there) {
    std::memcpy(&there, address, sizeof there);
    if (there.sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
      there.sin_port = htons(table->find(ntohs(there.sin_port)));
      return static_cast<int>(::syscall(SYS_connect, socket, &there, sizeof there));
    }
  }
  return static_cast<int>(::syscall(SYS_connect, socket, address, length));
}
