#pragma once

#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace simba::redis::test {

/// Listens, and answers whatever it is sent with the same text, but for what comes first on a
/// connection where there is a greeting. Where there is an `endless` text, that follows the answer,
/// again and again, for as long as the client reads.
class FixedReplyServer {
 public:
  explicit FixedReplyServer(std::string text, std::string greeting = {},
                            const std::string& endless = {})
      : text_{std::move(text)}, greeting_{std::move(greeting)} {
    while (!endless.empty() && endless_.size() < 60'000) endless_ += endless;
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, plain, &size) != 0) {
      throw std::runtime_error{"no socket"};
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
  }
  FixedReplyServer(const FixedReplyServer&) = delete;
  FixedReplyServer& operator=(const FixedReplyServer&) = delete;
  ~FixedReplyServer() {
    thread_ = {};
    ::close(listener_);
  }

  std::uint16_t port() const { return port_; }

 private:
  void serve(const std::stop_token& stop) const {
    std::vector<pollfd> open{{listener_, POLLIN, 0}};
    std::set<std::size_t> greeted;
    std::map<std::size_t, std::size_t> sent;  // of the endless text, to each of them
    while (!stop.stop_requested()) {
      if (::poll(open.data(), open.size(), 10) <= 0) continue;
      if (open[0].revents != 0) {
        open.push_back({::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
      }
      for (std::size_t i = 1; i < open.size(); ++i) {
        std::array<char, 4'096> buffer{};
        if (open[i].revents == 0) continue;
        if (open[i].events == POLLOUT) {
          std::size_t& at = sent[i];
          const auto size = ::send(open[i].fd, endless_.data() + at, endless_.size() - at,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
          if (size < 0) ::close(std::exchange(open[i].fd, -1));
          if (size > 0) at = (at + static_cast<std::size_t>(size)) % endless_.size();
          continue;
        }
        const bool greets = greeted.insert(i).second && !greeting_.empty();
        const std::string& text = greets ? greeting_ : text_;
        if (::recv(open[i].fd, buffer.data(), buffer.size(), 0) <= 0 ||
            ::send(open[i].fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
          ::close(std::exchange(open[i].fd, -1));
        } else if (!greets && !endless_.empty()) {
          open[i].events = POLLOUT;
        }
      }
    }
    for (std::size_t i = 1; i < open.size(); ++i) {
      if (open[i].fd != -1) ::close(open[i].fd);
    }
  }

  const std::string text_;
  const std::string greeting_;
  std::string endless_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

}  // namespace simba::redis::test
