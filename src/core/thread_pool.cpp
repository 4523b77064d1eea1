#include "core/thread_pool.hpp"

#include <system_error>
#include <utility>

#include <asio/post.hpp>

#include "simba/core/error.hpp"

namespace simba::detail {

ThreadPool::Parts::~Parts() {
  loop->finish();
  for (auto& thread : threads) loop->group().join_or_detach(thread);
}

ThreadPool::ThreadPool(std::string name, std::size_t threads,
                       std::shared_ptr<const ThreadGroup> group, std::shared_ptr<Logger> log)
    : name_{std::move(name)},
      size_{threads},
      parts_{std::make_shared<EventLoop>("a task of " + name_ + " threw", static_cast<int>(threads),
                                         std::move(group), std::move(log))} {}

void ThreadPool::start() {
  std::call_once(started_, [this] { start_threads(); });
}

void ThreadPool::start_threads() {
  auto& threads = parts_->threads;
  threads.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    try {
      threads.push_back(parts_->loop->group().start(name_ + "-" + std::to_string(i),
                                                    [loop = parts_->loop] { loop->run(); }));
    } catch (const std::system_error&) {
      if (threads.empty()) throw;  // else fewer threads do the same work
      return;
    }
  }
}

void ThreadPool::execute(std::function<void()> task) {
  if (parts_->in_forked_child()) {
    throw IllegalStateError{"the threads of " + name_ +
                            " are in the parent process; make a new runtime in a forked child"};
  }
  start();
  asio::post(parts_->loop->io(), [loop = parts_->loop.get(), run = std::move(task)] {
    loop->leave_in_child();
    run();
  });
}

bool ThreadPool::running_in_this_thread() const noexcept {
  return parts_->loop->io().get_executor().running_in_this_thread();
}

}  // namespace simba::detail
