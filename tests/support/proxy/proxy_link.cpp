#include "support/proxy/proxy_link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace simba::support {

namespace {

/// The socket is not connected yet, or its buffer is empty or full.
bool must_wait(int error) {
  return error == EAGAIN || error == EINTR || error == ENOTCONN || error == EINPROGRESS;
}

short events_of(const ProxyQueue& incoming, const ProxyQueue& outgoing, ProxyTime now) {
  const bool can_send = outgoing.next_due() <= now;
  return static_cast<short>((incoming.at_end() ? 0 : POLLIN) | (can_send ? POLLOUT : 0));
}

}  // namespace

Piece receive(int socket) {
  std::array<char, 65'536> buffer;  // NOLINT(*-member-init): filled by recv
  Piece piece;
  const auto count = ::recv(socket, buffer.data(), buffer.size(), 0);
  if (count > 0) {
    piece.data.assign(buffer.data(), static_cast<std::size_t>(count));
  } else if (count == 0) {
    piece.at_end = true;
  } else {
    piece.broken = !must_wait(errno);
  }
  return piece;
}

void ProxyQueue::add(Piece piece, ProxyTime due) {
  if (piece.size() != 0) {
    // A delay that was shortened lets nothing overtake.
    const auto last = pieces_.empty() ? due : std::max(due, pieces_.back().due);
    pieces_.push_back({std::move(piece.data), last});
  }
  at_end_ = at_end_ || piece.at_end;
}

bool ProxyQueue::flush(int socket) {
  while (!pieces_.empty() && pieces_.front().due <= ProxyClock::now()) {
    auto& data = pieces_.front().data;
    const auto count = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (count < 0) {
      return must_wait(errno);
    }
    data.erase(0, static_cast<std::size_t>(count));
    if (!data.empty()) {
      return true;
    }
    pieces_.pop_front();
  }
  if (finished() && !std::exchange(passed_end_, true)) {
    ::shutdown(socket, SHUT_WR);
  }
  return true;
}

ProxyTime ProxyLink::plan(std::vector<pollfd>& waits) const {
  const auto now = ProxyClock::now();
  for (const auto& [socket, events] : {std::pair{client, events_of(to_server, to_client, now)},
                                       std::pair{server, events_of(to_client, to_server, now)}}) {
    // A socket that has ended is always ready: wait for it only while there is something to send.
    if (events != 0) {
      waits.push_back({socket, events, 0});
    }
  }
  const auto later = [&](const ProxyQueue& queue) {
    return queue.next_due() > now ? queue.next_due() : ProxyTime::max();
  };
  return std::min(later(to_client), later(to_server));
}

}  // namespace simba::support
