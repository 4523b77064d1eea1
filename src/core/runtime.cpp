#include "simba/core/runtime.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/threads/blocking_waiter.hpp"
#include "core/threads/thread_group.hpp"
#include "core/threads/thread_pool.hpp"
#include "core/threads/timers.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

void check_threads(std::string_view what, std::size_t threads, std::size_t most) {
  if (threads < 1 || threads > most) {
    throw InvalidArgumentError{
        fmt::format("{} must be between 1 and {} (got {})", what, most, threads)};
  }
}

void check_options(const RuntimeOptions& options) {
  constexpr std::size_t most_at_rest = 256;
  constexpr std::size_t most = 4'096;
  check_threads("callback_threads", options.callback_threads, most_at_rest);
  check_threads("worker_threads", options.worker_threads, most_at_rest);
  check_threads("max_callback_threads", options.max_callback_threads, most);
  check_threads("max_worker_threads", options.max_worker_threads, most);
}

}  // namespace

std::shared_ptr<const Runtime> make_runtime(const RuntimeOptions& options) {
  check_options(options);
  const auto log = make_queued_logger(options.log ? options.log : make_default_logger());
  const auto group = std::make_shared<const detail::ThreadGroup>();
  const std::shared_ptr<const Clock> clock = make_system_clock();
  const auto timers = detail::make_asio_timers(group, log);
  const auto pool = [&](std::string_view name, std::size_t least, std::size_t most) {
    return std::make_shared<detail::ThreadPool>(
        std::string{name}, least, most,
        detail::PoolSurroundings{.group = group, .clock = clock, .timers = timers, .log = log});
  };
  const auto callbacks = pool("simba-call", options.callback_threads, options.max_callback_threads);
  const auto signals = pool("simba-signal", 1, options.max_callback_threads);

  auto runtime = std::make_shared<Runtime>();
  runtime->clock = clock;
  runtime->timers = timers;
  runtime->callbacks = callbacks;
  runtime->workers = pool("simba-work", options.worker_threads, options.max_worker_threads);
  runtime->signals = signals;
  runtime->waiter = detail::make_blocking_waiter(clock);
  runtime->random = make_system_random();
  runtime->log = log;
  runtime->delays = DelayMonitor::make(clock, *timers, log);
  runtime->statistics = std::make_shared<StatisticsRecorder>(clock, options.most_counted_mutexes);
  runtime->tracer = options.tracer;
  callbacks->start();
  signals->start();  // now, not at the first loss: the system may have no thread to give then
  return runtime;
}

}  // namespace simba
