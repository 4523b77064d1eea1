#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "simba/core/mutex_records.hpp"

namespace simba::engine {

/// Passes on the requests about records of one factory, some at a time, in order. Thousands of
/// schedules may have something to ask at the same moment, and the renewals of their leases must
/// not wait behind all of it.
///
/// Threads: may be used from any thread at the same time. Requests are made, and handlers called,
/// with no lock held. Lifetime: shared with requests under way.
class RecordLane : public std::enable_shared_from_this<RecordLane> {
 public:
  explicit RecordLane(std::size_t most_under_way) : most_under_way_{most_under_way} {}

  using Request = std::function<void(RecordHandler)>;

  /// Makes the request now or later, on any thread.
  void send(Request request, RecordHandler handler);

  /// Answers what waits with an error; so is what comes later.
  void close();

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct Waiting {
    Request request;
    RecordHandler handler;
  };

  void pass_on(Lock lock);
  void leave();

  const std::size_t most_under_way_;

  std::mutex mutex_;
  // guarded by mutex_
  std::deque<Waiting> waiting_;
  std::size_t under_way_ = 0;
  bool passing_on_ = false;  // a thread does; answers inside a request do not nest
  bool closed_ = false;
};

}  // namespace simba::engine
