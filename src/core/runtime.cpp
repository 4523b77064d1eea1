#include "simba/core/runtime.hpp"

#include <string_view>

#include <fmt/format.h>

#include "core/asio_timers.hpp"
#include "core/blocking_waiter.hpp"
#include "core/thread_group.hpp"
#include "core/thread_pool.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

void check_threads(std::string_view what, std::size_t threads) {
  constexpr std::size_t most = 256;
  if (threads < 1 || threads > most) {
    throw InvalidArgumentError{fmt::format("{} is {}, not in [1, {}]", what, threads, most)};
  }
}

}  // namespace

std::shared_ptr<const Runtime> make_runtime(const RuntimeOptions& options) {
  check_threads("callback_threads", options.callback_threads);
  check_threads("worker_threads", options.worker_threads);
  const auto log = options.log ? options.log : make_default_logger();
  const auto group = std::make_shared<const detail::ThreadGroup>();

  const auto callbacks =
      std::make_shared<detail::ThreadPool>("simba-call", options.callback_threads, group, log);
  const auto workers =
      std::make_shared<detail::ThreadPool>("simba-work", options.worker_threads, group, log);
  const auto signals = std::make_shared<detail::ThreadPool>("simba-signal", 1, group, log);

  auto runtime = std::make_shared<Runtime>();
  runtime->clock = make_system_clock();
  runtime->timers = detail::make_asio_timers(group, log);
  runtime->callbacks = callbacks;
  runtime->workers = workers;
  runtime->signals = signals;
  runtime->waiter = detail::make_blocking_waiter(runtime->clock);
  runtime->random = make_system_random();
  runtime->log = log;
  callbacks->start();
  return runtime;
}

}  // namespace simba
