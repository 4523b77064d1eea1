#include "redis/connection/connection_requests.hpp"

#include <utility>

namespace simba::redis {

void ConnectionRequests::add(std::string commands, std::size_t replies, RepliesHandler handler,
                             LocalTime now) {
  if (replies > 0) {
    waiting_.push_back({replies, std::move(handler), now, sent_ + unwritten().size()});
  }
  if (unwritten().empty()) {
    out_ = std::move(commands);
    written_ = 0;
  } else {
    out_ += commands;
  }
}

void ConnectionRequests::wrote(std::size_t bytes) {
  written_ += bytes;
  sent_ += bytes;
  if (written_ < out_.size()) return;
  out_.clear();
  written_ = 0;
}

std::string ConnectionRequests::take_unwritten() {
  std::string taken = std::exchange(out_, {});
  taken.erase(0, std::exchange(written_, 0));
  sent_ += taken.size();
  return taken;
}

ConnectionRequests::Request ConnectionRequests::pop() {
  Request oldest = std::move(waiting_.front());
  waiting_.pop_front();
  return oldest;
}

std::optional<LocalTime> ConnectionRequests::oldest() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().since;
}

void ConnectionRequests::restamp(LocalTime now) {
  for (Request& request : waiting_) request.since = now;
}

std::deque<ConnectionRequests::Request> ConnectionRequests::take_all() {
  return std::exchange(waiting_, {});
}

}  // namespace simba::redis
