#include "chaos/checking/slot_watch.hpp"

#include <chrono>
#include <condition_variable>
#include <utility>

#include "simba/config/make_factory.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;

/// Far shorter than it takes to fill the history.
constexpr auto interval = 2s;

}  // namespace

SlotWatch::SlotWatch(const std::string& url, std::vector<std::string> schedules)
    : schedules_{std::move(schedules)},
      runtime_{make_runtime({.log = make_null_logger()})},
      factory_{make_factory(url, {.runtime = runtime_})},
      records_{factory_->records(), runtime_, 10s},
      seen_{schedules_.size()},
      thread_{[this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock{mutex};
        while (!stopped.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
          try {
            look();
          } catch (const Error&) {  // it is broken just now
          }
        }
      }} {}

void SlotWatch::look() {
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    const auto report = records_.report(schedules_[i]);
    seen_[i].last_slot = report.last_slot;
    for (const auto& run : report.runs) {
      if (run.outcome != RunOutcome::running &&
          known_.emplace(i, run.number, run.attempt, run.outcome, run.fencing_token).second) {
        seen_[i].history.push_back(run);
      }
    }
  }
}

std::vector<SlotWatch::Seen> SlotWatch::finish() {
  thread_.request_stop();
  thread_.join();
  look();
  return std::move(seen_);
}

}  // namespace simba::chaos
