#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "simba/mysql/mysql_factory.hpp"

namespace simba::mysql {

/// The options of a database, checked, with what follows from them.
///
/// Throws InvalidArgumentError where an option is out of bounds or contradicts another.
struct Settings {
  explicit Settings(const MySqlOptions& checked);

  MySqlOptions options;
  std::string place;  ///< for messages: "db:3306", or the path of the socket
  std::chrono::milliseconds statement_timeout{0};
  std::size_t pool_size = 0;

  /// The server is known to be the right one before it is told anything: by its certificate, or by
  /// the path of its socket.
  bool trusts_server() const noexcept;
};

/// What the options are where they are silent.
inline constexpr std::chrono::milliseconds default_poll_interval{100};
inline constexpr std::size_t default_pool_size = 2;

}  // namespace simba::mysql
