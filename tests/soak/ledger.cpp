#include "soak/ledger.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <stdexcept>

#include <fmt/format.h>

#include "soak/options.hpp"
#include "support/safety.hpp"

namespace simba::soak {
namespace {

void raise(std::atomic<std::int64_t>& value, std::int64_t least) {
  std::int64_t now = value.load();
  while (now < least && !value.compare_exchange_weak(now, least)) {
  }
}

/// 0 is no process, and not dead.
bool is_dead(std::int64_t process) {
  return process != 0 && ::kill(static_cast<pid_t>(process), 0) == -1 && errno == ESRCH;
}

}  // namespace

Ledger::Ledger(const std::filesystem::path& file, std::size_t mutexes)
    : file_{file, size_for(mutexes), 0600, O_EXCL} {
  header().mutexes = mutexes;
}

Ledger::Ledger(const std::filesystem::path& file) : file_{file} {
  if (file_.size() < size_for(0) || file_.size() < size_for(mutexes())) {
    throw std::runtime_error{fmt::format("{} is no ledger", file.string())};
  }
}

std::size_t Ledger::size_for(std::size_t mutexes) noexcept {
  static_assert(sizeof(Header) <= sizeof(Slot));
  return (mutexes + 1) * sizeof(Slot);
}

Ledger::Header& Ledger::header() const noexcept { return *static_cast<Header*>(file_.data()); }

Ledger::Slot& Ledger::slot(std::size_t mutex) const noexcept {
  return static_cast<Slot*>(file_.data())[mutex + 1];
}

void Ledger::overlap(std::size_t mutex, std::int64_t length) const noexcept {
  header().mutex = mutex;
  header().early = length;
  ++header().overlaps;
}

bool Ledger::enter(std::size_t mutex, const Entry& entry, const std::function<void()>& meanwhile) {
  Slot& one = slot(mutex);
  const std::int64_t now = entry.now.time_since_epoch().count();
  raise(one.began, now);  // before the token: who sees that one sees this, too
  std::uint64_t greatest = one.token.load();
  do {
    if (greatest >= entry.token) {
      if (greatest == entry.token || one.began <= now) {
        header().mutex = mutex;
        header().before = greatest;
        header().after = entry.token;
        ++header().falls;
      }
      return false;
    }
  } while (!one.token.compare_exchange_weak(greatest, entry.token));
  const bool held = one.holder.exchange(entry.token) != 0;
  const std::int64_t believed = one.until.exchange(entry.until.time_since_epoch().count());
  if (held && believed > now) overlap(mutex, believed - now);

  if (is_dead(one.updating.exchange(entry.process))) ++one.cut_short;
  ++one.entered;
  const std::uint64_t count = one.counter.load(std::memory_order_relaxed);
  meanwhile();  // another owner, if there were one, would come in between
  one.counter.store(count + 1, std::memory_order_relaxed);
  std::int64_t mine = entry.process;
  one.updating.compare_exchange_strong(mine, 0);
  return true;
}

void Ledger::leave(std::size_t mutex, FencingToken token, LocalTime until) {
  Slot& one = slot(mutex);
  std::uint64_t mine = token;
  if (one.holder.compare_exchange_strong(mine, 0)) return;
  // Somebody has come meanwhile, at the moment `began` or before.
  const std::int64_t length = until.time_since_epoch().count() - one.began;
  if (length > 0) overlap(mutex, length);
}

void Ledger::lost() { ++header().losses; }

std::uint64_t Ledger::losses() const noexcept { return header().losses; }

std::uint64_t Ledger::ownerships() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < mutexes(); ++i) sum += slot(i).entered;
  return sum;
}

std::size_t Ledger::owned_once() const noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < mutexes(); ++i) count += slot(i).entered > 0 ? 1U : 0U;
  return count;
}

std::string Ledger::faults() const {
  std::string text;
  const Header& all = header();
  if (all.overlaps > 0) {
    text += fmt::format("{}{} ownerships began while another lasted, e.g. of {}, {:.1f} ms early\n",
                        support::safety_violation, all.overlaps.load(), mutex_name(all.mutex),
                        static_cast<double>(all.early) / 1e6);
  }
  if (all.falls > 0) {
    text += fmt::format("{}{} tokens did not grow, e.g. of {}: {} after {}\n",
                        support::safety_violation, all.falls.load(), mutex_name(all.mutex),
                        all.after.load(), all.before.load());
  }
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < mutexes(); ++i) {
    const Slot& one = slot(i);
    const std::uint64_t missing = one.entered - one.counter;
    const std::uint64_t excused = one.cut_short + (is_dead(one.updating) ? 1U : 0U);
    lost += missing - std::min(missing, excused);
  }
  if (lost > 0)
    text += fmt::format("{}{} updates of counters were lost\n", support::safety_violation, lost);
  return text;
}

}  // namespace simba::soak
