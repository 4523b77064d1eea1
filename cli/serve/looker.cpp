#include "cli/serve/looker.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "cli/examination.hpp"
#include "core/text.hpp"

namespace simba::cli::serve {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Of the time that a look takes, how many times as long we do not look.
constexpr int rest_after_look = 4;
constexpr milliseconds longest_rest = 30s;

/// After a failure: an error may come at once.
constexpr milliseconds failed_pause = 1s;

constexpr milliseconds inquiry_interval = 1s;
constexpr std::chrono::seconds examination_interval = 60s;

/// How many schedules are read at a time, and for how long.
constexpr std::size_t most_reports = 100;
constexpr milliseconds longest_reading = 100ms;

std::chrono::steady_clock::time_point steady_now() { return std::chrono::steady_clock::now(); }

}  // namespace

Looker::Looker(const config::Configuration& configuration,
               const std::shared_ptr<const Runtime>& runtime,
               std::optional<ScheduleRecords> records, Options options, Service& service)
    : configuration_{configuration},
      options_{std::move(options)},
      records_{std::move(records)},
      admin_{configuration.make_admin(runtime)},
      examiner_{configuration.make_admin(runtime)},
      log_{runtime->log},
      service_{service} {}

Looker::~Looker() {
  std::vector<Task> left;
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
    left = std::exchange(tasks_, {});
  }
  changed_.notify_all();
  for (const Task& task : left) task.done({.status = 503, .text = "the server is being stopped"});
  if (watcher_.joinable()) watcher_.join();
  if (inquirer_.joinable()) inquirer_.join();
}

void Looker::look_first() {
  try {
    if (options_.must_exist) admin_->check_exists();
    look();
  } catch (const Error& error) {
    if (!error.is_transient()) throw;
    service_.failed(error);
  }
}

void Looker::start() {
  watcher_ = std::thread{[this] { watch(); }};
  inquirer_ = std::thread{[this] { inquire(); }};
}

void Looker::look() {
  Look look;
  look.asked = wall_now();
  const auto begin = steady_now();
  look.entries =
      options_.only ? std::vector{admin_->find(*options_.only)} : admin_->list_with_waiting();
  look_time_ = std::chrono::ceil<milliseconds>(steady_now() - begin);
  look.answered = wall_now();
  service_.looked(look);
}

void Looker::watch() {
  milliseconds span = options_.interval;
  while (pause(span)) {
    try {
      look();
      span = std::clamp(rest_after_look * look_time_, options_.interval,
                        std::max(options_.interval, longest_rest));
    } catch (const Error& error) {
      service_.failed(error);
      span = std::max(options_.interval, failed_pause);
    } catch (const std::exception& error) {  // no memory, most likely
      service_.failed(Error{ErrorKind::internal, error.what()});
      span = failed_pause;
    }
  }
}

/// Waits, and meanwhile releases what is to be released. False: we are ending.
bool Looker::pause(milliseconds span) {
  const auto until = steady_now() + span;
  std::unique_lock lock{mutex_};
  for (;;) {
    const auto wakes = [&] { return ending_ || !tasks_.empty(); };
    if (!changed_.wait_until(lock, until, wakes)) return true;
    if (ending_) return false;
    const auto tasks = std::exchange(tasks_, {});
    lock.unlock();
    for (const Task& task : tasks) task.done(carry_out(task.wanted));
    lock.lock();
    if (!ending_ && tasks_.empty()) return true;  // shows at once what came of it
  }
}

void Looker::release(const Service::Release& wanted, std::function<void(Service::Released)> done) {
  {
    const std::lock_guard lock{mutex_};
    if (!ending_) {
      tasks_.push_back({.wanted = wanted, .done = std::move(done)});
      changed_.notify_all();
      return;
    }
  }
  done({.status = 503, .text = "the server is being stopped"});
}

Service::Released Looker::carry_out(const Service::Release& wanted) {
  try {
    const std::string owner = admin_->find(wanted.mutex).owner_id;
    if (owner != wanted.owner) {
      return {.status = 409,
              .text = owner.empty() ? "the mutex is free already"
                                    : fmt::format("the mutex is owned by \"{}\" meanwhile",
                                                  detail::excerpt(owner))};
    }
    service_.forced(wanted.mutex, wanted.owner);
    admin_->evict(wanted.mutex);
    return {.text = wanted.owner};
  } catch (const Error& error) {
    const bool asked_wrongly = error.kind() == ErrorKind::invalid_argument;
    return {.status = asked_wrongly                           ? 400
                      : error.kind() == ErrorKind::permission ? 403
                                                              : 503,
            .text = explain(error)};
  } catch (const std::exception& error) {
    return {.status = 500, .text = error.what()};
  }
}

// ---- schedules and findings ------------------------------------------------------------------

void Looker::inquire() {
  auto next_examination = steady_now();
  for (;;) {
    try {
      if (steady_now() >= next_examination) {
        next_examination = steady_now() + examination_interval;
        examine_store();
      }
      read_schedules();
    } catch (const std::exception& error) {
      log_->log(LogLevel::warn, fmt::format("looking at the schedules: {}", error.what()));
    }
    std::unique_lock lock{mutex_};
    if (changed_.wait_for(lock, inquiry_interval, [&] { return ending_; })) return;
  }
}

void Looker::examine_store() {
  Health health{.examined = wall_now()};
  const auto add = [&](const std::vector<engine::Finding>& findings) {
    health.findings.insert(health.findings.end(), findings.begin(), findings.end());
  };
  add(setting_findings(configuration_));
  add(plan_findings(configuration_.plan()));
  LeaseClock lease_clock = LeaseClock::steady;
  try {
    const TimedReport timed = examine(*examiner_);
    health.server = timed.report.server;
    health.clock = timed.clock();
    lease_clock = timed.lease_clock();
    if (health.clock) add(clock_findings(*health.clock));
    add(timed.report.findings);
  } catch (const Error& error) {
    add({finding_of(error)});
  }
  add(host_clock_findings(configuration_, lease_clock));
  service_.examined(health);
}

void Looker::read_schedules() {
  if (!records_) return;
  auto [schedules, others] = service_.names_after(last_read_, most_reports);
  if (options_.only) others = {*options_.only};
  if (others.empty()) last_read_.clear();  // from the first again
  std::vector<std::pair<std::string, ScheduleReport>> reports;
  const auto begin = steady_now();
  const auto read = [&](const std::string& mutex, milliseconds time) {
    if (steady_now() >= begin + time) return false;
    try {
      reports.emplace_back(mutex, records_->report(mutex));
    } catch (const Error& error) {
      // A record that cannot be read, or a name that cannot have one, hides no others.
      if (error.is_transient()) return false;
    }
    return true;
  };
  // Those that are known as schedules come each time, as far as that is possible.
  for (std::size_t i = 0; i < std::min(schedules.size(), most_reports); ++i) {
    if (!read(schedules[i], longest_reading / 2)) break;
  }
  for (const std::string& mutex : others) {
    if (!read(mutex, longest_reading)) break;
    last_read_ = mutex;
  }
  service_.reported(reports);
}

}  // namespace simba::cli::serve
