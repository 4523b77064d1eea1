#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "redis/connection/connection.hpp"
#include "simba/core/time.hpp"

namespace simba::redis {

/// The requests of a connection that have no answer yet, and their bytes that are not written yet.
/// No I/O in it.
///
/// Threads: used by one thread at a time.
class ConnectionRequests {
 public:
  struct Request {
    std::size_t replies = 0;
    RepliesHandler handler{};
    LocalTime since{};
    std::uint64_t begin = 0;  ///< how many bytes were sent, or are to be, before its first
  };

  /// True if no answer is waited for and nothing is to be written.
  bool idle() const noexcept { return waiting_.empty() && unwritten().empty(); }

  /// Takes a request; with 0 replies only its bytes.
  void add(std::string commands, std::size_t replies, RepliesHandler handler, LocalTime now);

  /// What is to be written next. Valid until a function is called that changes this object.
  std::string_view unwritten() const noexcept { return std::string_view{out_}.substr(written_); }

  /// That many bytes of it are written.
  void wrote(std::size_t bytes);

  /// Gives what is to be written away, as written.
  std::string take_unwritten();

  /// How many replies the oldest request waits for; 0: there is none.
  std::size_t wanted() const noexcept { return waiting_.empty() ? 0 : waiting_.front().replies; }

  /// Takes the oldest request out. There must be one.
  Request pop();

  /// Since when the oldest request waits.
  std::optional<LocalTime> oldest() const;

  /// All requests count as made at `now`.
  void restamp(LocalTime now);

  /// Takes all requests out.
  std::deque<Request> take_all();

  /// Whether nothing of `request` was written.
  bool unsent(const Request& request) const noexcept { return request.begin >= sent_; }

 private:
  std::deque<Request> waiting_;
  std::string out_;
  std::size_t written_ = 0;  // of out_
  std::uint64_t sent_ = 0;   // of all bytes since the beginning
};

}  // namespace simba::redis
