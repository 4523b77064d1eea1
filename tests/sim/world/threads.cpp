#include "sim/world/threads.hpp"

#include <utility>

namespace simba::sim {

namespace {

thread_local SimThread* running = nullptr;

}  // namespace

Threads::~Threads() {
  quit_ = true;
  for (const auto& thread : threads_) {
    thread->go_.hand_over();
    thread->thread_.join();
  }
}

SimThread* Threads::current() noexcept { return running; }

void Threads::start(std::function<void()> body) {
  SimThread& thread = idle_one();
  thread.body_ = std::move(body);
  thread.executor = nullptr;
  ++busy_;
  resume(thread);
}

void Threads::resume(SimThread& thread) {
  ++switches_;
  thread.go_.hand_over();
  driver_.await();
}

void Threads::park() {
  SimThread& thread = *running;
  driver_.hand_over();
  thread.go_.await();
}

SimThread& Threads::idle_one() {
  if (idle_.empty()) {
    SimThread& thread = *threads_.emplace_back(std::make_unique<SimThread>());
    thread.thread_ = std::thread{[this, &thread] { serve(thread); }};
    return thread;
  }
  SimThread& thread = *idle_.back();
  idle_.pop_back();
  return thread;
}

void Threads::serve(SimThread& thread) {
  running = &thread;
  while (true) {
    thread.go_.await();
    if (quit_) return;
    thread.body_();
    thread.body_ = nullptr;
    --busy_;
    idle_.push_back(&thread);
    driver_.hand_over();
  }
}

}  // namespace simba::sim
