#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <string>

namespace simba::support {

using Address = sockaddr_in;

/// What the proxy needs of sockets. All of them are non-blocking and close-on-exec. The functions
/// that make one throw std::system_error where it says so.

/// Numbers only, e.g. "127.0.0.1". Throws std::invalid_argument.
Address resolve(const std::string& host, std::uint16_t port);

/// Throws std::system_error.
int make_event();

/// Listens on 127.0.0.1; `port` gets the number. Throws std::system_error.
int listen_on_free_port(std::uint16_t& port);

/// Stops listening, so that the system refuses connections; the port stays ours.
void refuse(int listener) noexcept;

/// Listens again.
void allow(int listener) noexcept;

/// -1: nobody is there.
int accept_one(int listener) noexcept;

/// Begins to connect; -1: refused at once.
int connect_to(const Address& address) noexcept;

/// Closes with a reset: the other side gets an error, and what is under way is dropped.
void reset(int socket) noexcept;

}  // namespace simba::support
