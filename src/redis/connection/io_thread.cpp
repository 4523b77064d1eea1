#include "redis/connection/io_thread.hpp"

#include <exception>

#include <asio/post.hpp>

namespace simba::redis {
namespace {

/// More handlers than any store leaves behind: what goes on and on does not hold up the end.
constexpr int most_left_over = 100'000;

/// Runs what is ready: what a closed connection had under way lets go of it there.
void run_what_is_left(detail::EventLoop& loop) noexcept {
  auto& io = loop.io();
  io.restart();
  for (int i = 0; i < most_left_over && !loop.in_forked_child(); ++i) {
    try {
      if (io.poll_one() == 0) return;
    } catch (...) {  // NOLINT(bugprone-empty-catch): the others must still run
    }
  }
}

}  // namespace

IoThread::IoThread(const std::string& name, std::shared_ptr<const detail::ThreadGroup> group,
                   std::shared_ptr<Logger> log)
    : parts_{std::make_shared<detail::EventLoop>("a task of " + name + " threw", 1,
                                                 std::move(group), std::move(log))} {
  parts_->thread = parts_->loop->group().start(name, [loop = parts_->loop] {
    loop->run();
    run_what_is_left(*loop);
  });
}

void IoThread::post(std::function<void()> task) {
  if (parts_->in_forked_child()) return;
  asio::post(parts_->loop->io(), [loop = parts_->loop.get(), run = std::move(task)] {
    loop->leave_in_child();
    run();
  });
}

void IoThread::stop() {
  if (parts_->in_forked_child()) return;
  std::thread thread;
  {
    const std::lock_guard lock{parts_->mutex};
    thread.swap(parts_->thread);
  }
  if (!thread.joinable()) return;
  // Behind what is queued now, so that the closing of connections is among what has run.
  asio::post(parts_->loop->io(), [loop = parts_->loop.get()] { loop->stop(); });
  parts_->loop->group().join_or_detach(thread);
}

}  // namespace simba::redis
