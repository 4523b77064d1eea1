#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "simba/http/health_server.hpp"

namespace simba::http {

/// Who sees more than status codes: see `HealthServer`.
struct Exposure {
  std::string token{};       ///< empty: there is none
  bool on_loopback = false;  ///< what the server listens on
};

/// The token in a file, without white space around it. Throws Error of kind `configuration`.
std::string read_token(const std::string& file);

/// What a health server answers, without a socket.
///
/// Threads: used by one thread.
class HealthPages {
 public:
  HealthPages(HealthServer::Report report, HealthServerOptions options, Exposure exposure);

  Response answer(const Request& request) const;

  /// To be called each second.
  void tick();

 private:
  Response status_page(int status, std::string_view text, bool sees_all) const;
  Response metrics(const Request& request) const;
  std::string why_not_live() const;
  bool sees_all(const Request& request) const;

  const HealthServer::Report report_;
  const HealthServerOptions options_;
  const Exposure exposure_;

  // While this process is stopped neither a timer fires nor a tick comes: that does not count.
  const std::shared_ptr<std::atomic<bool>> fired_ = std::make_shared<std::atomic<bool>>(true);
  std::unique_ptr<Timer> timer_;
  int ticks_without_timer_ = 0;
  int ticks_without_lease_ = 0;
};

}  // namespace simba::http
