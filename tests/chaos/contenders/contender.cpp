#include "chaos/contenders/contender.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "chaos/checking/fenced_log.hpp"
#include "chaos/checking/record.hpp"
#include "chaos/checking/sampler.hpp"
#include "chaos/checking/slot_log.hpp"
#include "chaos/faults/clock_line.hpp"
#include "chaos/raw_clock.hpp"
#include "chaos/shared_page.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/log.hpp"
#include "simba/schedule/scheduler.hpp"
#include "support/patience.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;
using Random = std::mt19937_64;

std::chrono::milliseconds between(Random& random, std::chrono::milliseconds low,
                                  std::chrono::milliseconds high) {
  return std::chrono::milliseconds{
      std::uniform_int_distribution<std::int64_t>{low.count(), high.count()}(random)};
}

/// Writes to a file, with the time of the records.
class FileLogger final : public Logger {
 public:
  explicit FileLogger(const std::filesystem::path& file) : stream_{file, std::ios::app} {}

  bool enabled(LogLevel level) const noexcept override { return level != LogLevel::debug; }

  void log(LogLevel /*level*/, std::string_view message) noexcept override {
    const std::lock_guard lock{mutex_};
    stream_ << raw_now() / nanoseconds_per_millisecond << ' ' << message << std::endl;
  }

 private:
  std::mutex mutex_;
  std::ofstream stream_;  // guarded by mutex_
};

class RecordedContender final : public AbstractMutexContender {
 public:
  RecordedContender(std::string id, std::shared_ptr<Logger> log, RecordWriter& record)
      : AbstractMutexContender{mutexes[0], std::move(id), std::move(log)}, record_{record} {}

  void on_acquired(const MutexState& state) override {
    record_.callback(Callback::Kind::acquired, state.after().fencing_token(), raw_now());
  }
  void on_released(const MutexState& state) override {
    const auto& own = state.before();
    record_.callback(Callback::Kind::released, own.fencing_token(), raw_now());
    std::this_thread::sleep_for(3ms);  // in which nobody may come
    const auto end = raw_now();
    if (support::now() < own.local_lease().transition_at) {
      record_.callback(Callback::Kind::releasing, own.fencing_token(), end);
    }
  }

 private:
  RecordWriter& record_;
};

/// Reads the counter, takes a moment, and writes it back one greater. Who has lost the mutex
/// meanwhile does not notice: the token must hold.
void count_up(FencedLog& resource, std::uint64_t token, std::chrono::milliseconds moment) {
  if (token == 0) {
    return;
  }
  if (const auto value = resource.read(token)) {
    std::this_thread::sleep_for(moment);
    resource.write(token, *value + 1);
  }
}

/// Acquires, holds, gives back and rests, again and again.
void fight(const std::stop_token& stop, MutexContendService& service, FencedLog& resource,
           RecordWriter& record, Random random) {
  while (!stop.stop_requested()) {
    record.callback(Callback::Kind::starting, 0, raw_now());
    service.start();
    while (!stop.stop_requested() && !service.is_owner()) {
      std::this_thread::sleep_for(1ms);
    }
    // Now and then it stays until it loses the mutex, if that comes soon.
    const auto hold = random() % 8 == 0 ? 4'000ms : between(random, 50ms, 600ms);
    const auto end = raw_now() + hold / 1ns;
    while (!stop.stop_requested() && raw_now() < end && service.is_owner()) {
      count_up(resource, service.fencing_token(), between(random, 0ms, 4ms));
      std::this_thread::sleep_for(between(random, 0ms, 8ms));
    }
    service.stop();
    record.callback(Callback::Kind::stopped, 0, raw_now());
    std::this_thread::sleep_for(between(random, 10ms, 60ms));
  }
}

/// The work of a shared schedule: takes a while, may fail, and writes down what it sees.
///
/// Threads: runs never overlap.
class SlotWorker {
 public:
  SlotWorker(const SharedSchedule& schedule, const ContenderSettings& settings, std::size_t index,
             Status::Slots& status)
      : schedule_{schedule},
        who_{settings.which.name()},
        log_{settings.files.slots(index)},
        clocks_{settings.store_clocks},
        status_{status},
        random_{settings.seed + index + 1} {}

  void work(const Run& run) {
    const auto& slot = run.slot().value();
    SlotEntry entry{.slot = slot.time.time_since_epoch().count(),
                    .number = slot.number,
                    .attempt = slot.attempt,
                    .token = run.fencing_token(),
                    .who = who_};
    write(entry, SlotEntry::Kind::begins, raw_now());
    status_.begun_at.store(entry.at);
    const auto length = random_() % 8 == 0 ? 1'600ms : between(random_, 0ms, 600ms);
    const auto end = entry.at + length / 1ns;
    for (auto now = raw_now(); now < end && !run.stop().stop_requested(); now = raw_now()) {
      status_.running_at.store(now);
      if (run.lease_left() > 0ns && now - entry.at >= between_lines) {
        write(entry, SlotEntry::Kind::lasts, now);
      }
      std::this_thread::sleep_for(5ms);
    }
    const auto now = raw_now();
    if (run.lease_left() > 0ns) {
      write(entry, SlotEntry::Kind::lasts, now);
    }
    const bool well = !run.stop().stop_requested() && random_() % schedule_.failures != 0;
    write(entry, well ? SlotEntry::Kind::ends : SlotEntry::Kind::fails, now);
    if (!well) {
      throw std::runtime_error{"chaos"};
    }
  }

 private:
  static constexpr std::int64_t between_lines = 20 * nanoseconds_per_millisecond;

  void write(SlotEntry& entry, SlotEntry::Kind kind, std::int64_t at) const {
    const auto wall = raw_clock(CLOCK_REALTIME);
    entry.kind = kind;
    entry.at = at;
    entry.wall = (wall + clocks_->wall.read().at(wall)) / nanoseconds_per_millisecond;
    log_.write(entry);
  }

  const SharedSchedule& schedule_;
  const std::string who_;
  const SlotLog log_;
  const SharedPage<ClockSkew> clocks_;
  Status::Slots& status_;
  Random random_;
};

/// Waits for SIGTERM. SIGINT, which a terminal sends to all, is for the driver alone.
void wait_for_the_end() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  int number = 0;
  while (::sigwait(&signals, &number) != 0) {
  }
}

void run(const ContenderSettings& settings, RecordWriter& lock_record) {
  const auto& files = settings.files;
  const auto name = settings.which.name();
  const auto lane = static_cast<std::size_t>(settings.which.lane);
  const auto log = std::make_shared<FileLogger>(files.log(settings.which));
  const SharedPage<Status> status{files.status()};
  RecordWriter work_record{files.record(settings.which, 1)};
  FencedLog lock_resource{files.resource(0)};
  FencedLog work_resource{files.resource(1)};

  const auto factory = make_factory(settings.url, {.runtime = make_runtime({.log = log})});
  RecordedContender contender{name, log, lock_record};
  const auto service = factory->create_mutex_contend_service(contender);

  // The work asks for the token of its scheduler, which is there only when it has been made.
  std::atomic<const MutexContendService*> leads{nullptr};
  Scheduler scheduler{mutexes[1],
                      *factory,
                      ScheduleConfig::delay(0ms, 10ms),
                      [&](const std::stop_token& /*stop*/) {
                        if (const auto* const own = leads.load()) {
                          count_up(work_resource, own->fencing_token(), 2ms);
                        }
                      },
                      {.contender_id = name + "-work"}};
  leads.store(&scheduler.contend_service());

  std::vector<std::unique_ptr<SlotWorker>> slot_workers;
  std::vector<std::unique_ptr<Scheduler>> slot_schedulers;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const auto& schedule = schedules.at(i);
    auto& worker = *slot_workers.emplace_back(
        std::make_unique<SlotWorker>(schedule, settings, i, status->slots[lane][i]));
    slot_schedulers.push_back(std::make_unique<Scheduler>(
        schedule.name, *factory, schedule.config(), [&worker](const Run& run) { worker.work(run); },
        SchedulerOptions{.contender_id = fmt::format("{}-slots{}", name, i)}));
  }
  {
    const Sampler lock_sampler{*service, lock_record, status->sights[lane][0].owned_at};
    const Sampler work_sampler{scheduler.contend_service(), work_record,
                               status->sights[lane][1].owned_at};
    scheduler.start();
    for (const auto& one : slot_schedulers) {
      one->start();
    }
    std::jthread fighter{[&](const std::stop_token& stop) {
      try {
        fight(stop, *service, lock_resource, lock_record, Random{settings.seed});
      } catch (const std::exception& error) {
        lock_record.complain(error.what());
      }
    }};
    wait_for_the_end();
    fighter.request_stop();
    fighter.join();
    scheduler.stop();
    for (const auto& one : slot_schedulers) {
      one->stop();
    }
  }
}

}  // namespace

int run_contender(const ContenderSettings& settings) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) {
    return EXIT_FAILURE;  // it was too late
  }
  RecordWriter record{settings.files.record(settings.which, 0)};
  try {
    run(settings, record);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    record.complain(error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace simba::chaos
