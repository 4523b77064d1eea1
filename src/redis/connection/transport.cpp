#include "redis/connection/transport.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "redis/connection/tls_context.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {

std::string reason_of(const asio::error_code& error) {
  std::string text = error.message();
  const auto upper = [&](std::size_t at) { return text[at] >= 'A' && text[at] <= 'Z'; };
  if (text.size() > 1 && upper(0) && !upper(1)) text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

void Transport::make_socket(const Address& address) {
  const int family = address.protocol().family();
  const int made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) {
    throw Error{ErrorKind::unavailable, fmt::format("cannot create a socket for Redis: {}",
                                                    std::generic_category().message(errno))};
  }
  if (family != AF_UNIX) {
    const auto set = [made](int level, int name, int value) {
      ::setsockopt(made, level, name, &value, sizeof value);  // where it fails, timeouts must do
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    // Notices a host that is gone, even if nobody asks it anything.
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(patience_.count()));
  }
  asio::error_code refused;
  socket_.assign(address.protocol(), made, refused);
  if (refused) {
    ::close(made);
    throw Error{ErrorKind::unavailable,
                fmt::format("cannot create a socket for Redis: {}", refused.message())};
  }
  descriptor_ = made;
}

auto Transport::make_tls(TlsMode mode, const std::string& host) -> asio::ssl::stream<Socket&>& {
  auto& tls = tls_.emplace(socket_, *tls_context_);
  expect_host(*tls.native_handle(), mode, host);
  return tls;
}

// NOLINTNEXTLINE(readability-make-member-function-const): it writes
std::size_t Transport::try_write(std::string_view bytes, asio::error_code& error) noexcept {
  for (;;) {
    const auto written =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno == EINTR) continue;
    error = asio::error_code{errno, asio::error::get_system_category()};
    return 0;
  }
}

bool Transport::met_itself() const {
  asio::error_code unknown;
  const auto here = socket_.local_endpoint(unknown);
  if (unknown || here.protocol().family() == AF_UNIX) return false;
  const auto there = socket_.remote_endpoint(unknown);
  return !unknown && here == there;
}

std::string Transport::certificate_refusal() {
  return tls_ ? redis::certificate_refusal(*tls_->native_handle()) : std::string{};
}

void Transport::close() noexcept {
  asio::error_code ignored;
  socket_.close(ignored);
  descriptor_ = -1;
}

}  // namespace simba::redis
