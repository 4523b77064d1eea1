#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "redis/connection/dialer.hpp"

namespace simba::redis {

/// How to connect to the sentinels.
std::shared_ptr<const ConnectionSettings> sentinel_settings(const RedisOptions& options);

/// Asks sentinels where the master is: one after another, until one names it. Finds that come while
/// it asks share the answer. A search takes at most twice the connect timeout for each sentinel.
///
/// First asked is the one that answered last, but for one that says the same again: it may be cut
/// off from the others and know of no failover, so next time those that answer go before it. Last
/// are those that failed.
///
/// What it finds is what a sentinel believes: whether that server is a master is for the one who
/// connects to it to check.
///
/// Threads: everything happens on the loop's thread, the destructor too.
/// Lifetime: made by `make_shared`. No connection outlives it, nor a search.
class MasterFinder final : public EndpointSource,
                           public std::enable_shared_from_this<MasterFinder> {
 public:
  /// Of the options it uses the endpoints, which are the sentinels, what belongs to these, and the
  /// name of the master.
  MasterFinder(const RedisOptions& options, OpenConnection open);

  /// As `close()`.
  ~MasterFinder() override;

  MasterFinder(const MasterFinder&) = delete;
  MasterFinder& operator=(const MasterFinder&) = delete;

  /// An Error says `configuration` where every sentinel answered that it knows no such master, what
  /// all of them refused where they agree on it (e.g. `authentication`), else `unavailable`, with
  /// the reason of each.
  void find(EndpointHandler handler) override;

  /// Ends the search under way: those who wait for it get an Error, as does everyone who asks
  /// later.
  void close();

 private:
  using Answer = std::variant<Endpoint, Error>;

  struct Sentinel {
    Endpoint endpoint{};
    bool failed = false;     // when it was asked last
    std::uint64_t turn = 0;  // the higher, the later it is asked
    bool asked = false;      // in the search under way
  };

  /// Why a sentinel did not help.
  struct Failure {
    Endpoint sentinel{};
    Error error;
    bool unknown_name = false;
  };

  Sentinel* choose();
  void ask_next();
  void answered(std::uint64_t attempt, const Replies& replies);
  void failed(std::uint64_t attempt, const Error& error, bool unknown_name = false);
  void found(const Endpoint& master);
  Error nothing_found() const;
  void finish(const Answer& answer);
  void drop_connection();

  // constant after construction
  const std::string master_name_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const OpenConnection open_;

  std::vector<Sentinel> sentinels_;  // never grows
  std::uint64_t last_turn_ = 0;
  std::optional<Endpoint> found_last_;
  std::uint64_t attempt_ = 0;  // what an earlier attempt still says is not heard
  bool closed_ = false;

  // of the search under way, which is while someone waits
  std::vector<EndpointHandler> waiting_;
  std::vector<Failure> failures_;
  Sentinel* current_ = nullptr;
  std::shared_ptr<Connection> connection_;
};

}  // namespace simba::redis
