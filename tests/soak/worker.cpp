#include "soak/worker.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <random>
#include <stdexcept>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/log.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/runtime.hpp"
#include "soak/ledger.hpp"
#include "support/patience.hpp"

namespace simba::soak {
namespace {

using std::chrono::milliseconds;

volatile std::sig_atomic_t told_to_stop = 0;

class Contender;

/// What is to be done, in the order of time.
///
/// Threads: every function may be called from any thread.
class Agenda {
 public:
  struct Item {
    LocalTime at{};
    Contender* contender = nullptr;

    friend bool operator>(const Item& a, const Item& b) { return a.at > b.at; }
  };

  void add(LocalTime at, Contender* contender) {
    const std::lock_guard lock{mutex_};
    items_.push({at, contender});
    added_.notify_one();
  }

  /// The next one that is due; null: it is time to look for signals.
  Contender* next() {
    constexpr milliseconds longest{50};
    std::unique_lock lock{mutex_};
    const LocalTime now = support::now();
    if (items_.empty() || items_.top().at > now) {
      const auto rest = items_.empty()
                            ? longest
                            : std::min<std::chrono::nanoseconds>(longest, items_.top().at - now);
      added_.wait_for(lock, rest);
    }
    if (items_.empty() || items_.top().at > support::now()) return nullptr;
    Contender* const due = items_.top().contender;
    items_.pop();
    return due;
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  // guarded by mutex_
  std::priority_queue<Item, std::vector<Item>, std::greater<>> items_;
};

/// What all contenders of a worker share.
struct World {
  const Options& options;
  Ledger& ledger;
  Agenda& agenda;
  std::mutex random_mutex{};
  std::mt19937_64 random;  // guarded by random_mutex

  milliseconds up_to(milliseconds most) {
    const std::lock_guard lock{random_mutex};
    return milliseconds{std::uniform_int_distribution<std::int64_t>{0, most.count()}(random)};
  }
};

/// Threads: `turn` by the main thread, callbacks by those of the runtime.
class Contender final : public AbstractMutexContender {
 public:
  Contender(std::size_t number, const std::string& id, World& world,
            MutexContendServiceFactory& factory, std::shared_ptr<Logger> log)
      : AbstractMutexContender{mutex_name(number), id, std::move(log)},
        number_{number},
        world_{world},
        service_{factory.create_mutex_contend_service(*this)} {}

  void on_acquired(const MutexState& state) override {
    const LocalTime now = support::now();
    const MutexOwner& own = state.after();
    // The mutex may have been lost before this call began, and acquired again.
    entered_ = service_->is_owner() && service_->fencing_token() == own.fencing_token() &&
               world_.ledger.enter(number_, {.token = own.fencing_token(),
                                             .until = own.local_lease().transition_at,
                                             .now = now,
                                             .process = ::getpid()});
    world_.agenda.add(now + world_.up_to(world_.options.longest_hold()), this);
  }

  void on_released(const MutexState& state) override {
    if (std::exchange(entered_, false)) {
      // It owned until now, or as long as its last renewal lasted.
      const MutexOwner& own = state.before();
      world_.ledger.leave(number_, own.fencing_token(),
                          std::min(support::now(), own.local_lease().transition_at));
    }
    if (!stopping_) world_.ledger.lost();
  }

  /// Begins to contend, or, an owner by now, gives up and comes again later.
  void turn() {
    if (!service_->running()) {
      service_->start();
      return;
    }
    stopping_ = true;
    service_->stop();
    stopping_ = false;
    const milliseconds cycle = world_.options.cycle();
    world_.agenda.add(support::now() + cycle / 2 + world_.up_to(cycle), this);
  }

  void close() noexcept {
    stopping_ = true;
    service_->close();
  }

 private:
  const std::size_t number_;
  World& world_;
  bool entered_ = false;  // used in callbacks only, which come one at a time
  std::atomic<bool> stopping_ = false;
  const std::unique_ptr<MutexContendService> service_;
};

/// Each mutex has as many contenders as `Options::contenders` says, each in another process.
bool contends(const Options& options, std::size_t mutex) {
  std::minstd_rand random{static_cast<unsigned>(mutex + 1)};
  std::vector<std::size_t> places(options.processes);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < options.contenders(); ++i) {
    std::swap(places[i], places[i + random() % (places.size() - i)]);
    if (places[i] == *options.worker) return true;
  }
  return false;
}

}  // namespace

config::Configuration configuration_of(const std::string& url, const Options& options) {
  auto configuration = config::Configuration::from_url(url);
  configuration.set("ttl", fmt::format("{}ms", options.ttl().count()), "the soak");
  configuration.set("transition", fmt::format("{}ms", options.transition().count()), "the soak");
  return configuration;
}

int be_worker(const Options& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGTERM, [](int /*signal*/) { told_to_stop = 1; });
  for (const int of_terminals : {SIGINT, SIGHUP}) {
    std::signal(of_terminals, SIG_IGN);  // NOLINT: the driver ends us
  }
  const char* const url = std::getenv(url_variable);  // NOLINT(concurrency-mt-unsafe)
  if (url == nullptr || ::getppid() == 1) throw std::runtime_error{"the driver is gone"};

  Ledger ledger{options.ledger};
  Agenda agenda;
  World world{
      .options = options,
      .ledger = ledger,
      .agenda = agenda,
      .random = std::mt19937_64{options.seed * 1'000'003 + *options.worker * 1'009 + options.life}};
  const auto runtime = make_runtime({.log = make_null_logger()});
  const auto factory = configuration_of(url, options).make_factory(runtime);
  std::vector<std::unique_ptr<Contender>> contenders;
  for (std::size_t mutex = 0; mutex < options.mutexes; ++mutex) {
    if (!contends(options, mutex)) continue;
    contenders.push_back(std::make_unique<Contender>(
        mutex, fmt::format("{}:{}:{}", *options.worker, options.life, ::getpid()), world, *factory,
        runtime->log));
    agenda.add(support::now() + world.up_to(options.first_beginnings()), contenders.back().get());
  }
  while (told_to_stop == 0) {
    if (Contender* const due = agenda.next()) due->turn();
  }
  for (const auto& contender : contenders) contender->close();
  return 0;
}

}  // namespace simba::soak
