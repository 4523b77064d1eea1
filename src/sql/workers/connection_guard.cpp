#include "sql/workers/connection_guard.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::sql {
namespace {

/// How long an amount goes unnoticed: about ten megabytes, by the loopback.
constexpr std::chrono::milliseconds between_looks{5};

}  // namespace

std::uint64_t received(int descriptor) noexcept {
  tcp_info facts{};
  socklen_t size = sizeof facts;
  const bool known = ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &facts, &size) == 0;
  return known ? facts.tcpi_bytes_received : 0;
}

ConnectionGuard::ConnectionGuard(int descriptor, LocalTime deadline, const Wakeup& closing)
    : descriptor_{::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)} {
  start([this, deadline, &closing] {
    if (wait_for(over_.descriptor(), POLLIN, deadline, closing) != Waited::ready) cut();
  });
}

ConnectionGuard::ConnectionGuard(int descriptor, std::uint64_t most)
    : descriptor_{::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)} {
  start([this, most] { watch_amount(most); });
}

void ConnectionGuard::start(std::function<void()> watch) {
  try {
    if (descriptor_ < 0) throw std::system_error{errno, std::generic_category()};
    thread_ = group_.start("simba-sql-guard", std::move(watch));
  } catch (const std::exception& error) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error{ErrorKind::unavailable,
                fmt::format("cannot start a thread that guards a connection: {}", error.what())};
  }
}

ConnectionGuard::~ConnectionGuard() {
  over_.raise();
  thread_.join();
  ::close(descriptor_);
}

void ConnectionGuard::watch_amount(std::uint64_t most) noexcept {
  while (wait_for(over_, real_now() + between_looks) != Waited::woken) {
    if (received(descriptor_) <= most) continue;
    exceeded_ = true;
    cut();
    return;
  }
}

void ConnectionGuard::cut() const noexcept { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace simba::sql
