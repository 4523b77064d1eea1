#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simba/postgresql/postgresql_factory.hpp"

struct pg_conn;  // of libpq

namespace simba::postgresql {

struct ServerAddress {
  std::string host;  ///< without brackets
  std::uint16_t port;
};

/// The hosts of the options. Throws InvalidArgumentError where one is none.
std::vector<ServerAddress> addresses_of(const PostgreSqlOptions& options);

/// Where and how to connect, in the terms of libpq. Holds the password.
///
/// Threads: every function may be called from any thread at the same time.
class ConnectSettings {
 public:
  /// Throws InvalidArgumentError where the options contradict each other.
  explicit ConnectSettings(const PostgreSqlOptions& options);

  /// E.g. "PostgreSQL at db:5432". Has no password.
  const std::string& name() const noexcept { return name_; }

  /// Whether a pooler may stand between: then a setting of the session must not be changed.
  bool pooled() const noexcept { return pooled_; }

  /// The host that the next attempt begins with, counted round and round through the hosts.
  std::size_t first_host() const noexcept { return first_host_; }

  /// Begins to connect, to that host first; null if memory is short. Throws Error if there are no
  /// credentials to be had.
  pg_conn* start(std::size_t first_host) const;

  /// An attempt that began with that host took too long, and libpq does not move on from a host
  /// that stays silent: the next attempt begins with the one after it. However many such attempts
  /// fail, the host is passed over once.
  void pass_over(std::size_t first_host) const noexcept {
    first_host_.compare_exchange_strong(first_host, first_host + 1);
  }

  /// Whether libpq may send a password to this host: it stays here, or someone has chosen how.
  bool may_send_password(std::string_view host) const;

 private:
  struct Setting {
    const char* keyword;
    std::string value;
  };

  std::vector<ServerAddress> addresses_;
  std::string name_;
  bool pooled_;
  bool tls_chosen_ = false;
  Credentials fixed_;
  CredentialsSource source_;
  mutable std::atomic<std::size_t> first_host_{0};
  std::vector<Setting> settings_{};
};

}  // namespace simba::postgresql
