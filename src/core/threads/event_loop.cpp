#include "core/threads/event_loop.hpp"

#include <asio/post.hpp>

#include "core/log_exception.hpp"

namespace simba::detail {
namespace {

/// More handlers than any loop leaves behind: what goes on and on does not hold up the end.
constexpr int most_left_over = 100'000;

struct LeftInChild {};

}  // namespace

EventLoop::EventLoop(std::string what, std::shared_ptr<Logger> log)
    : what_{std::move(what)}, log_{std::move(log)} {}

void EventLoop::run() noexcept {
  repeat([this] {
    io_.run();
    return false;
  });
  if (in_forked_child()) return;
  io_.restart();
  repeat([this, left = most_left_over]() mutable { return left-- > 0 && io_.poll_one() > 0; });
}

/// Takes steps while they say that there are more.
template <typename Step>
void EventLoop::repeat(Step step) noexcept {
  for (;;) {
    try {
      if (!step()) return;
    } catch (const LeftInChild&) {
      return;
    } catch (...) {
      log_current_exception(*log_, what_);
    }
  }
}

void EventLoop::leave_in_child() const {
  if (in_forked_child()) throw LeftInChild{};
}

LoopThread::LoopThread(const std::string& name, std::string what,
                       std::shared_ptr<const ThreadGroup> group, std::shared_ptr<Logger> log)
    : parts_{std::make_shared<EventLoop>(std::move(what), std::move(log)), std::move(group)} {
  parts_->thread =
      parts_->group->start(name, [loop = parts_->loop, group = parts_->group] { loop->run(); });
}

void LoopThread::post(std::function<void()> task) const {
  if (in_forked_child()) return;
  asio::post(loop()->io(), [loop = loop().get(), run = std::move(task)] {
    loop->leave_in_child();
    run();
  });
}

void LoopThread::stop() noexcept {
  if (in_forked_child()) return;
  std::thread thread;
  {
    const std::lock_guard lock{parts_->mutex};
    thread.swap(parts_->thread);
  }
  if (!thread.joinable()) return;
  try {
    // Behind what is queued now, so that the closing of connections is among what has run.
    asio::post(loop()->io(), [loop = loop().get()] { loop->stop(); });
  } catch (...) {  // out of memory
    loop()->stop();
  }
  parts_->group->join_or_detach(thread);
}

}  // namespace simba::detail
