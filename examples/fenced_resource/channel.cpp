#include "channel.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

Message::Message(Kind kind_of_it, simba::FencingToken token_of_it, std::string_view text_of_it)
    : kind{kind_of_it}, token{token_of_it} {
  text_of_it.copy(text.data(), text.size() - 1);
}

std::pair<Channel, Channel> Channel::make_pair() {
  std::array<int, 2> ends{};
  // SEQPACKET: a message arrives whole or not at all.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error{errno, std::generic_category(), "socketpair"};
  }
  return {Channel{ends[0]}, Channel{ends[1]}};
}

Channel::~Channel() {
  if (socket_ != -1) ::close(socket_);
}

void Channel::send(const Message& message) const {
  if (::send(socket_, &message, sizeof message, MSG_NOSIGNAL) != sizeof message) {
    throw std::system_error{errno, std::generic_category(), "send"};
  }
}

std::optional<Message> Channel::receive() const {
  Message message;
  if (::recv(socket_, &message, sizeof message, 0) != sizeof message) return std::nullopt;
  return message;
}
