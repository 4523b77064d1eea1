#include "support/proxy/fault_proxy.hpp"

#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/proxy/proxy_link.hpp"
#include "support/proxy/proxy_sockets.hpp"

namespace simba::support {

using namespace std::chrono_literals;

class FaultProxy::Impl {
 public:
  Impl(std::string host, std::uint16_t port)
      : target_{resolve(host, port)}, listener_{listen_on_free_port(port_)}, wakeup_{make_event()} {
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
  }

  ~Impl() {
    thread_.request_stop();
    wake();
    thread_.join();
    ::close(listener_);
    ::close(wakeup_);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::uint16_t port() const noexcept { return port_; }

  /// Changes the faults, and wakes the thread, which may be waiting for other events than are of
  /// interest now.
  void change(const std::function<void()>& action) {
    {
      const std::lock_guard lock{mutex_};
      action();
    }
    wake();
  }

  void black_hole() {
    change([&] { frozen_ = true; });
  }

  void cut() {
    change([&] {
      reset_links();
      if (!std::exchange(refusing_, true)) {
        refuse(listener_);
      }
    });
  }

  void reset_all() {
    change([&] { reset_links(); });
  }

  void cut_next_reply() {
    change([&] {
      for (auto& link : links_) {
        link.reply_fault = ReplyFault::armed;
      }
    });
  }

  void cut_after_bytes(std::uint64_t bytes) {
    change([&] { bytes_until_cut_ = bytes; });
  }

  void delay(std::chrono::milliseconds one_way) {
    change([&] { delay_ = one_way; });
  }

  void mend() {
    change([&] {
      frozen_ = false;
      delay_ = 0ms;
      bytes_until_cut_.reset();
      for (auto& link : links_) {
        link.reply_fault = ReplyFault::none;
      }
      if (std::exchange(refusing_, false)) {
        allow(listener_);
      }
    });
  }

  Counters counters() const {
    const std::lock_guard lock{mutex_};
    auto result = counters_;
    result.open = links_.size();
    return result;
  }

 private:
  void wake() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wakeup_, &one, sizeof one));
  }

  void reset_links() {
    for (const auto& link : links_) {
      reset(link.client);
      reset(link.server);
    }
    links_.clear();
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> waits;
      int timeout = -1;
      {
        const std::lock_guard lock{mutex_};
        timeout = plan(waits);
      }
      ::poll(waits.data(), waits.size(), timeout);
      std::uint64_t ignored = 0;
      static_cast<void>(!::read(wakeup_, &ignored, sizeof ignored));
      const std::lock_guard lock{mutex_};
      if (!refusing_) {
        accept_all();
      }
      if (!frozen_) {
        move_all();
      }
    }
    const std::lock_guard lock{mutex_};
    reset_links();
  }

  /// What to wait for, and how long.
  int plan(std::vector<pollfd>& waits) const {
    waits.push_back({wakeup_, POLLIN, 0});
    if (!refusing_) {
      waits.push_back({listener_, POLLIN, 0});
    }
    auto next = ProxyTime::max();
    if (!frozen_) {
      for (const auto& link : links_) {
        next = std::min(next, link.plan(waits));
      }
    }
    if (next == ProxyTime::max()) {
      return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - ProxyClock::now());
    return static_cast<int>(std::max<long>(left.count(), 0));
  }

  void accept_all() {
    for (int client = accept_one(listener_); client != -1; client = accept_one(listener_)) {
      ++counters_.connections;
      if (const int server = connect_to(target_); server != -1) {
        links_.emplace_back(client, server);
      } else {
        reset(client);
      }
    }
  }

  void move_all() {
    for (auto link = links_.begin(); link != links_.end();) {
      if (move(*link)) {
        ++link;
      } else {
        reset(link->client);
        reset(link->server);
        link = links_.erase(link);
      }
    }
  }

  /// Moves what can be moved. False: the connection is to be reset.
  bool move(ProxyLink& link) {
    const auto due = ProxyClock::now() + delay_;
    auto request = receive(link.client);
    auto reply = receive(link.server);
    if (request.broken || reply.broken) {
      return false;
    }
    if (request.size() != 0) {
      ++counters_.requests;
      if (bytes_until_cut_ && *bytes_until_cut_ <= request.size()) {
        request.data.resize(static_cast<std::size_t>(*bytes_until_cut_));
        bytes_until_cut_.reset();
        link.cut_when_sent = true;
      } else if (bytes_until_cut_) {
        *bytes_until_cut_ -= request.size();
      }
      counters_.bytes_to_server += request.size();
      if (link.reply_fault == ReplyFault::armed) {
        link.reply_fault = ReplyFault::waiting;
      }
    }
    link.to_server.add(std::move(request), due);

    if (reply.size() != 0 && link.reply_fault == ReplyFault::waiting) {
      for (auto& other : links_) {
        other.reply_fault = ReplyFault::none;
      }
      ++counters_.cuts;
      return false;
    }
    counters_.bytes_to_client += reply.size();
    link.to_client.add(std::move(reply), due);

    const bool works = link.to_server.flush(link.server) && link.to_client.flush(link.client);
    if (link.cut_when_sent && link.to_server.empty()) {
      ++counters_.cuts;
      return false;
    }
    return works && !(link.to_server.finished() && link.to_client.finished());
  }

  const Address target_;
  std::uint16_t port_ = 0;
  const int listener_;
  const int wakeup_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::list<ProxyLink> links_;
  bool frozen_ = false;
  bool refusing_ = false;
  std::chrono::milliseconds delay_{0};
  std::optional<std::uint64_t> bytes_until_cut_;
  Counters counters_;

  std::jthread thread_;  // last: uses all of the above
};

FaultProxy::FaultProxy(std::string host, std::uint16_t port)
    : impl_{std::make_unique<Impl>(std::move(host), port)} {}
FaultProxy::~FaultProxy() = default;

std::uint16_t FaultProxy::port() const noexcept { return impl_->port(); }
void FaultProxy::black_hole() { impl_->black_hole(); }
void FaultProxy::cut() { impl_->cut(); }
void FaultProxy::reset_all() { impl_->reset_all(); }
void FaultProxy::cut_next_reply() { impl_->cut_next_reply(); }
void FaultProxy::cut_after_bytes(std::uint64_t bytes) { impl_->cut_after_bytes(bytes); }
void FaultProxy::delay(std::chrono::milliseconds one_way) { impl_->delay(one_way); }
void FaultProxy::mend() { impl_->mend(); }
FaultProxy::Counters FaultProxy::counters() const { return impl_->counters(); }

}  // namespace simba::support
