#include "soak/driver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "simba/core/log.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/store_admin.hpp"
#include "soak/crew.hpp"
#include "soak/ledger.hpp"
#include "soak/process_figures.hpp"
#include "soak/store.hpp"
#include "soak/worker.hpp"
#include "support/patience.hpp"
#include "support/temporary_folder.hpp"

namespace simba::soak {
namespace {

using std::chrono::milliseconds;

std::atomic<bool> interrupted{false};

void listen_for_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, [](int /*signal*/) { interrupted.store(true); });
  }
}

/// Also returns when it is interrupted.
void wait_until(LocalTime moment) {
  constexpr milliseconds longest{20};
  for (LocalTime now = support::now(); now < moment && !interrupted; now = support::now()) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(longest, moment - now));
  }
}

/// What happens to the workers, and when.
class Fate {
 public:
  Fate(const Options& options, Crew& crew, Figures& figures, const Store& store)
      : options_{options},
        crew_{crew},
        figures_{figures},
        store_{store},
        random_{options.seed},
        begin_{support::now()},
        next_kill_{begin_ + pause()},
        next_stop_{begin_ + pause() * 3 / 2},
        next_sample_{begin_} {}

  LocalTime end() const { return begin_ + options_.end(); }
  double seconds() const { return std::chrono::duration<double>(support::now() - begin_).count(); }

  /// Does what is due and says when the next is.
  LocalTime go_on() {
    const LocalTime now = support::now();
    crew_.look_after();
    if (now >= next_sample_) {
      figures_.sample(seconds(), crew_, store_);
      next_sample_ = now + sample_interval();
    }
    if (now >= next_kill_) {
      if (now < begin_ + options_.kills_end()) crew_.kill(someone());
      next_kill_ = now + pause();
    }
    if (now >= next_stop_) {
      crew_.stop(someone());
      next_stop_ = now + pause() * 3 / 2;
    }
    return std::min({next_kill_, next_stop_, next_sample_, end(), now + milliseconds{250}});
  }

 private:
  bool is_short() const { return !options_.judges_flatness(); }

  milliseconds sample_interval() const {
    return std::clamp<milliseconds>(milliseconds{options_.seconds} / 120, milliseconds{250},
                                    milliseconds{5'000});
  }

  milliseconds pause() {
    const std::int64_t least = is_short() ? 800 : 2'000;
    return milliseconds{std::uniform_int_distribution<std::int64_t>{least, 2 * least}(random_)};
  }

  /// Not of the core.
  std::size_t someone() {
    return std::uniform_int_distribution<std::size_t>{options_.core(),
                                                      options_.processes - 1}(random_);
  }

  const Options& options_;
  Crew& crew_;
  Figures& figures_;
  const Store& store_;
  std::mt19937_64 random_;
  const LocalTime begin_;
  LocalTime next_kill_;
  LocalTime next_stop_;
  LocalTime next_sample_;
};

/// How many of the mutexes have an owner. Asks for each: to list all takes more rights.
std::size_t held(engine::StoreAdmin& admin, std::size_t mutexes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < mutexes && !interrupted; ++i) {
    if (!admin.find(mutex_name(i)).owner_id.empty()) ++count;
  }
  return count;
}

/// To be asked when all workers have stopped: what they owned they have released, so nothing is
/// held, long before any lease could have run out.
std::size_t left_held(const Store& store, const Options& options) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  const auto admin = configuration_of(store.url(), options).make_admin(runtime);
  const LocalTime limit = support::now() + options.release_bound();
  for (;;) {
    const bool last = support::now() >= limit;
    const std::size_t count = held(*admin, options.mutexes);
    if (count == 0 || last || interrupted) return count;
    wait_until(support::now() + milliseconds{200});  // how often the store is asked
  }
}

}  // namespace

Outcome run(const Options& options) {
  listen_for_interrupts();
  const Store store{options.store};
  configuration_of(store.url(), options)
      .make_admin(make_runtime({.log = make_null_logger()}))
      ->init();
  const support::TemporaryFolder folder;
  Options of_workers = options;
  of_workers.ledger = folder.path() / "ledger";
  const Ledger ledger{of_workers.ledger, options.mutexes};
  ::setenv(url_variable, store.url().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)

  Outcome outcome{.store = store.name()};
  Figures figures;
  Crew crew{of_workers};
  Fate fate{options, crew, figures, store};
  while (!interrupted && support::now() < fate.end()) {
    wait_until(fate.go_on());
  }
  outcome.seconds = fate.seconds();
  if (!interrupted) crew.end(std::chrono::seconds{60}, interrupted);
  outcome.ownerships = ledger.ownerships();
  if (interrupted) {
    outcome.interrupted = true;
    return outcome;  // what is left ends with the objects here
  }
  outcome.workers = figures.workers(outcome.seconds);
  outcome.server = figures.server(outcome.seconds);
  outcome.connections = figures.connections(outcome.seconds);
  outcome.kills = crew.kills();
  outcome.stops = crew.stops();
  outcome.losses = ledger.losses();
  outcome.never_owned = options.mutexes - ledger.owned_once();
  outcome.left_held = left_held(store, options);
  outcome.faults = ledger.faults() + crew.faults();
  if (store.port()) {
    support::within(std::chrono::seconds{5},
                    [&] { return interrupted || connections_to(*store.port()) == 0; });
    outcome.left_connections = connections_to(*store.port());
  }
  outcome.interrupted = interrupted;
  return outcome;
}

}  // namespace simba::soak
