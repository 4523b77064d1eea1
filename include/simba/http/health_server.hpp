#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "simba/core/runtime.hpp"
#include "simba/core/time.hpp"

namespace simba {

/// What a process says of its part in one mutex.
struct HealthReport {
  std::string mutex{};
  std::string contender_id{};
  std::string owner{};             ///< as far as this process knows; empty: nobody
  bool leads = false;              ///< it acts as the leader
  bool draining = false;           ///< it is about to give the leadership up: no new requests
  bool ready = true;               ///< it can do its part, whoever leads
  FencingToken fencing_token = 0;  ///< of the present leadership; 0: none
  std::chrono::nanoseconds lease_left{0};  ///< how long nobody else can lead; zero: no lease
};

struct HealthServerOptions {
  /// Whose statistics `/metrics` shows, and whose timers `/liveness` watches. Empty: there is no
  /// `/metrics`, and only the leadership is watched.
  std::shared_ptr<const Runtime> runtime{};

  /// A file with the token that clients send as "Authorization: Bearer TOKEN" to see more than
  /// status codes. Read once. Empty: see `HealthServer`.
  std::string token_file{};

  /// For how long the timers must stand still, or leadership be claimed without a lease, before
  /// `/liveness` fails. Counted while this process runs, not while it is stopped. At least 1 s.
  std::chrono::seconds patience{10};
};

/// Tells load balancers, orchestrators and Prometheus how this process is, over HTTP; GET, HEAD and
/// OPTIONS get the same status.
///
///   /leader     200 if `leads`, there is a lease and it is not draining; else 503.
///   /follower   200 if `/leader` is 503; else 503.
///   /liveness   503 if a restart may help: the timers stand still, or leadership is claimed
///               although the lease is over. An outage of the store does not count.
///   /readiness  200 if `ready`; else 503. Never asks who leads: a rolling update would wait for
///               ever.
///   /metrics    what `metrics_text` gives, in the format that the client accepts.
///   /status     the report as a JSON object.
///
/// Who sees what: with a token file, clients that send the token see everything. Without one, so do
/// clients on this host, if `address` is a loopback address and `Host` names one, too. All others
/// see status codes without a body, and neither `/metrics` nor `/status`. Nothing is encrypted: on
/// a network where others listen put a proxy with TLS in front.
///
/// Not guaranteed: that a process that was the leader when it answered still is when the answer
/// arrives. A load balancer asks from time to time: refuse what it sends to a process that does not
/// lead, and let `draining` come before a release for longer than it takes the balancer to notice.
///
/// Threads: the constructor and destructor are for its owner. `report` is called on the server's
/// thread, for each request and once a second. It must not block.
/// Lifetime: the destructor closes all connections and returns within about a second; a `report`
/// that blocks for longer is let go. In a forked child nothing is served.
class HealthServer {
 public:
  using Report = std::function<HealthReport()>;

  /// `address` is "127.0.0.1:8080", "[::1]:8080" or "localhost:8080"; port 0: any that is free.
  /// Serves when it returns. Throws InvalidArgumentError if `address` or `patience` is out of
  /// bounds, Error of kind `configuration` if the address is not to be had or the token file is
  /// unusable, and std::system_error if the system gives no thread.
  HealthServer(std::string_view address, Report report, const HealthServerOptions& options = {});
  ~HealthServer();
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

  /// Where it listens, with the port that was found.
  [[nodiscard]] std::string address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace simba
