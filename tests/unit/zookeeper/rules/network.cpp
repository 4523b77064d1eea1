#include "unit/zookeeper/rules/network.hpp"

#include <algorithm>
#include <utility>

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Lane = Actor::Lane;

// ---- Line ---------------------------------------------------------------------------------------

Line::Line(Network& network, std::shared_ptr<Host> host, std::size_t server, Events events)
    : network_{network}, host_{std::move(host)}, server_{server}, events_{std::move(events)} {
  visitor_->name = host_->name;
}

void Line::begin() {
  const std::weak_ptr<Line> weak = weak_from_this();
  visitor_->say = [weak](Say what) {
    const auto line = weak.lock();
    if (!line || line->host_->cut_off) return;
    line->host_->actor->at(Lane::loop, line->arrival(down), [line, what = std::move(what)] {
      if (!line->closed_ && !line->host_->cut_off) line->events_.on_say(what);
    });
  };
  visitor_->dropped = [weak] {
    const auto line = weak.lock();
    if (!line || line->host_->cut_off) return;
    line->host_->actor->at(Lane::loop, line->arrival(down), [line] { line->broken(); });
  };
}

LocalTime Line::arrival(Direction direction) {
  const LocalTime soonest = std::max({network_.world_.now() + network_.delay(), held_.at(direction),
                                      network_.isolated_until(*host_)});
  return last_.at(direction) = std::max(last_.at(direction), soonest);
}

void Line::send(Ask ask) {
  if (closed_ || host_->cut_off) return;
  Server& server = network_.ensemble_.server(server_);
  server.actor().at(Lane::loop, arrival(up),
                    [self = shared_from_this(), &server, ask = std::move(ask)] {
                      if (!self->network_.ensemble_.up(self->server_)) {
                        server.drop(self->visitor_);
                      } else {
                        server.serve(self->visitor_, ask);
                      }
                    });
}

void Line::close() {
  if (std::exchange(closed_, true)) return;
  events_ = {};
  if (host_->cut_off) return;
  Server& server = network_.ensemble_.server(server_);
  server.actor().at(Lane::loop, arrival(up),
                    [self = shared_from_this(), &server] { server.forget(self->visitor_); });
}

void Line::broken() {
  if (std::exchange(closed_, true) || host_->cut_off) return;
  const Events events = std::exchange(events_, {});
  events.on_broken();
}

void Line::hold_until(bool hold_up, bool hold_down, LocalTime until) {
  if (hold_up) held_[up] = std::max(held_[up], until);
  if (hold_down) held_[down] = std::max(held_[down], until);
}

void Line::break_at_server(nanoseconds later) {
  network_.ensemble_.server(server_).forget(visitor_);
  host_->actor->at(Lane::loop, network_.world_.now() + later,
                   [self = shared_from_this()] { self->broken(); });
}

void Line::break_here(nanoseconds later) {
  host_->actor->at(Lane::loop, network_.world_.now(),
                   [self = shared_from_this()] { self->broken(); });
  Server& server = network_.ensemble_.server(server_);
  server.actor().at(Lane::loop, network_.world_.now() + later,
                    [self = shared_from_this(), &server] { server.forget(self->visitor_); });
}

// ---- Network ------------------------------------------------------------------------------------

std::shared_ptr<Line> Network::open(const std::shared_ptr<Host>& host, std::size_t server,
                                    Line::Events events) {
  auto line = std::make_shared<Line>(*this, host, server, std::move(events));
  lines_.push_back(line);
  line->begin();
  return line;
}

nanoseconds Network::delay() {
  if (world_.rough) {
    if (world_.chance(weather_.late_per_thousand)) return world_.between(50ms, 1'500ms);
    if (world_.chance(weather_.slow_per_thousand)) return world_.between(2ms, 50ms);
  }
  return world_.between(50us, 1ms);
}

LocalTime Network::isolated_until(const Host& host) const {
  const auto found = isolated_until_.find(&host);
  return found == isolated_until_.end() ? LocalTime::min() : found->second;
}

std::vector<std::shared_ptr<Line>> Network::alive(const Host& host) {
  std::erase_if(lines_, [](const auto& weak) {
    const auto line = weak.lock();
    return !line || line->closed();
  });
  std::vector<std::shared_ptr<Line>> found;
  for (const auto& weak : lines_) {
    auto line = weak.lock();
    if (&line->host() == &host) found.push_back(std::move(line));
  }
  return found;
}

void Network::black_hole(const Host& host, LocalTime until) {
  const auto which = world_.below(3);
  for (const auto& line : alive(host)) line->hold_until(which != 1, which != 2, until);
}

void Network::lose_replies(const Host& host) {
  for (const auto& line : alive(host)) {
    line->hold_until(false, true, world_.now() + 1min);
    const nanoseconds later = world_.between(1ms, 300ms);
    world_.at(world_.now() + later, [line] { line->break_here(0ns); });
  }
}

void Network::break_one(const Host& host) {
  const auto candidates = alive(host);
  if (candidates.empty()) return;
  const auto& line = candidates[world_.below(candidates.size())];
  if (world_.chance(500)) {
    line->break_at_server(world_.chance(500) ? 0ns : world_.between(0ns, 100ms));
  } else {
    line->break_here(world_.chance(500) ? 0ns : world_.between(0ns, 800ms));
  }
}

void Network::crash(Host& host, bool server_hears) {
  for (const auto& line : alive(host)) {
    if (server_hears) line->break_at_server(0ns);
  }
  host.cut_off = true;
}

}  // namespace simba::zookeeper::rules
