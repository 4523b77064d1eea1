#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include "support/server.hpp"

namespace simba::soak {

/// A server of our own, started now and gone with this object; or whatever a URL names.
class Store {
 public:
  /// "redis", "mariadb" or a URL. Throws std::runtime_error where the server does not start, see
  /// support::is_missing_server.
  explicit Store(const std::string& store);

  const std::string& name() const noexcept { return name_; }  ///< without a password
  const std::string& url() const noexcept { return url_; }

  // Of a server of our own.
  std::optional<pid_t> process() const noexcept { return process_; }
  std::optional<std::uint16_t> port() const noexcept { return port_; }

 private:
  std::string name_;
  std::string url_;
  std::unique_ptr<support::Server> server_;
  std::optional<pid_t> process_;
  std::optional<std::uint16_t> port_;
};

}  // namespace simba::soak
