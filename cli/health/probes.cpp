#include "cli/health/probes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "cli/output/times.hpp"
#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#if SIMBA_HAS_HTTP
#include "simba/http/health_server.hpp"
#endif

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

/// As `/liveness` has it.
constexpr auto patience_with_claim = 10s;

struct Ownership {
  FencingToken fencing_token = 0;
  std::chrono::nanoseconds lease_left{0};
};

Ownership ownership_of(const Runtime& runtime, const std::string& mutex) {
  if (!runtime.statistics) return {};
  const auto all = runtime.statistics->snapshot().mutexes;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const MutexStatistics& one) { return one.mutex == mutex; });
  if (found == all.end()) return {};
  return {.fencing_token = found->fencing_token, .lease_left = found->lease_left};
}

}  // namespace

void ProbeArguments::add_to(CLI::App& app) {
  auto* const listen =
      app.add_option("--listen", listen_,
                     "Answer load balancers, orchestrators and Prometheus over HTTP on this "
                     "address: /leader, /follower, /liveness, /readiness, /metrics, /status. Other "
                     "hosts get status codes only, unless they send the token in --token-file")
          ->type_name("ADDRESS:PORT");
  app.add_option("--token-file", token_file_,
                 "File with a token; whoever sends it as \"Authorization: Bearer TOKEN\" sees "
                 "/metrics and /status, too, from any host; without it nobody does then")
      ->type_name("FILE")
      ->needs(listen);
  app.add_option("--drain-probes", drain_,
                 "Let /leader answer 503 for this time before the mutex is released, so that a "
                 "load balancer sends no more requests here (default: 0)")
      ->type_name("TIME")
      ->needs(listen);
}

std::chrono::milliseconds ProbeArguments::drain() const {
  return parse_duration(drain_, "--drain-probes");
}

struct Probes::State {
  std::string mutex_name{};
  std::string contender_id{};
  std::shared_ptr<const Runtime> runtime{};
  ServiceManager manager{};
#if SIMBA_HAS_HTTP
  std::unique_ptr<HealthServer> server{};
#endif

  std::mutex mutex{};
  // guarded by mutex
  std::string owner{};
  bool answered = false;
  bool leads = false;
  bool ending = false;
  std::optional<LocalTime> drains_since{};
  std::unique_ptr<Timer> watchdog{};
  std::optional<LocalTime> overdue_since{};

  void tell_manager() const {
    if (ending) return manager.status("stopping");
    if (leads) {
      return manager.status(
          fmt::format("{} mutex \"{}\"", drains_since ? "giving up" : "leading:", mutex_name));
    }
    manager.status(owner.empty() || owner == contender_id
                       ? fmt::format("waiting for mutex \"{}\"", mutex_name)
                       : fmt::format("mutex \"{}\" is owned by {}", mutex_name, owner));
  }

  /// Runs on the thread of the timers, and so shows that it does.
  void feed_watchdog() {
    const auto ownership = ownership_of(*runtime, mutex_name);
    const LocalTime now = runtime->clock->now();
    const std::lock_guard lock{mutex};
    if (!watchdog) return;
    if (!leads || ownership.lease_left > 0ns) {
      overdue_since.reset();
    } else if (!overdue_since) {
      overdue_since = now;
    }
    if (!overdue_since || now - *overdue_since < patience_with_claim) manager.alive();
    watchdog->arm(now + manager.watchdog().value_or(1h));
  }

#if SIMBA_HAS_HTTP
  HealthReport report() {
    const auto ownership = ownership_of(*runtime, mutex_name);
    const std::lock_guard lock{mutex};
    return {.mutex = mutex_name,
            .contender_id = contender_id,
            .owner = owner,
            .leads = leads,
            .draining = drains_since.has_value(),
            .ready = answered && !ending,
            .fencing_token = ownership.fencing_token,
            .lease_left = ownership.lease_left};
  }
#endif
};

Probes::Probes(const ProbeArguments& arguments)
    : arguments_{arguments}, drain_{arguments.drain()}, state_{std::make_shared<State>()} {}

Probes::~Probes() {
#if SIMBA_HAS_HTTP
  state_->server.reset();
#endif
  const std::lock_guard lock{state_->mutex};
  state_->watchdog.reset();
}

void Probes::open(const std::string& mutex, const std::string& contender_id,
                  const std::shared_ptr<const Runtime>& runtime, Output& output) {
  state_->mutex_name = mutex;
  state_->contender_id = contender_id;
  state_->runtime = runtime;
  const std::optional<std::string>& listen = arguments_.listen();
  if (!listen) return;
#if SIMBA_HAS_HTTP
  if (runtime->statistics) runtime->statistics->add(mutex);
  try {
    state_->server = std::make_unique<HealthServer>(
        *listen,
        [state = std::weak_ptr{state_}] {
          const auto known = state.lock();
          return known ? known->report() : HealthReport{};
        },
        HealthServerOptions{.runtime = runtime, .token_file = arguments_.token_file()});
  } catch (const InvalidArgumentError& e) {
    throw UsageError{fmt::format("--listen: {}", e.what())};
  }
  const std::string address = state_->server->address();
  output.note(fmt::format("listening on {}", address),
              {{"event", "listening"}, {"address", address}});
#else
  static_cast<void>(output);
  throw Failure{ExitCode::configuration,
                "--listen is not available: this simba was built without Boost 1.81 or later"};
#endif
}

void Probes::contends() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->tell_manager();
  }
  state_->manager.ready();
  if (!state_->manager.watchdog()) return;
  auto timer = state_->runtime->timers->create([state = std::weak_ptr{state_}] {
    if (const auto known = state.lock()) known->feed_watchdog();
  });
  {
    const std::lock_guard lock{state_->mutex};
    state_->watchdog = std::move(timer);
  }
  state_->feed_watchdog();
}

void Probes::answered(const std::string& owner) {
  const std::lock_guard lock{state_->mutex};
  const bool same = state_->answered && state_->owner == owner;
  state_->answered = true;
  state_->owner = owner;
  if (!same) state_->tell_manager();
}

void Probes::leads() {
  const std::lock_guard lock{state_->mutex};
  if (state_->ending) return;
  state_->leads = true;
  state_->drains_since.reset();
  state_->tell_manager();
}

void Probes::follows() {
  const std::lock_guard lock{state_->mutex};
  if (!std::exchange(state_->leads, false)) return;
  state_->drains_since.reset();
  state_->tell_manager();
}

void Probes::drains() {
  const std::lock_guard lock{state_->mutex};
  if (!state_->leads || state_->drains_since) return;
  state_->drains_since = state_->runtime->clock->now();
  state_->tell_manager();
}

LocalTime Probes::drained_at() const {
  const std::lock_guard lock{state_->mutex};
  const std::optional<LocalTime> since = state_->drains_since;
  return since ? *since + drain_ : LocalTime{};
}

void check_drain(const Probes& probes, std::optional<std::chrono::milliseconds> max_hold) {
  if (max_hold && probes.drain() >= *max_hold) {
    throw UsageError{"--drain-probes must be shorter than --max-hold"};
  }
}

void Probes::ends() {
  const std::lock_guard lock{state_->mutex};
  if (std::exchange(state_->ending, true)) return;
  state_->manager.stopping();
  state_->tell_manager();
}

}  // namespace simba::cli
