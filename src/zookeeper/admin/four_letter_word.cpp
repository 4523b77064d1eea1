#include "zookeeper/admin/four_letter_word.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "core/text.hpp"

namespace simba::zookeeper {
namespace {

using Moment = std::chrono::steady_clock::time_point;

constexpr std::size_t longest_answer = 16'384;

class Socket {
 public:
  explicit Socket(const addrinfo& address)
      : descriptor_{::socket(address.ai_family,
                             address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,  // NOLINT
                             address.ai_protocol)} {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connect(const addrinfo& address, Moment deadline) const {
    if (descriptor_ < 0) return false;
    if (::connect(descriptor_, address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !ready(POLLOUT, deadline)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }

  /// All that comes until the server closes.
  std::string talk(std::string_view word, Moment deadline) const {
    std::string answer;
    if (::send(descriptor_, word.data(), word.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(word.size())) {
      return answer;
    }
    std::array<char, 1'024> buffer{};
    while (answer.size() < longest_answer && ready(POLLIN, deadline)) {
      const auto size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
      if (size <= 0) break;
      answer.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return answer;
  }

 private:
  bool ready(short events, Moment deadline) const {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd one{descriptor_, events, 0};
    return ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) > 0;
  }

  const int descriptor_;
};

}  // namespace

FourLetterAnswer ask_four_letter_word(const Server& server, std::string_view word,
                                      std::chrono::milliseconds span) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(server.host.c_str(), server.port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses{found, ::freeaddrinfo};
  const Moment deadline = std::chrono::steady_clock::now() + span;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const Socket socket{*address};
    if (!socket.connect(*address, deadline)) continue;
    std::string text = socket.talk(word, deadline);
    const auto state =
        text.empty() ? FourLetterAnswer::State::silent : FourLetterAnswer::State::answered;
    return {.state = state, .text = std::move(text)};
  }
  return {};
}

std::string version_in(std::string_view answer) {
  constexpr std::string_view begin = "Zookeeper version: ";
  const auto at = answer.find(begin);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = answer.substr(at + begin.size());
  return std::string{rest.substr(0, rest.find_first_not_of("0123456789."))};
}

std::optional<std::chrono::milliseconds> tick_in(std::string_view answer) {
  constexpr std::string_view begin = "tickTime=";
  const auto at = answer.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = answer.substr(at + begin.size());
  const auto tick =
      detail::parse_number<std::uint32_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!tick || *tick == 0) return std::nullopt;
  return std::chrono::milliseconds{*tick};
}

bool is_too_old(std::string_view version) {
  const auto numbers = detail::parse_version(version);
  return numbers.front() != 0 && numbers < std::array{3U, 5U, 0U};
}

}  // namespace simba::zookeeper
