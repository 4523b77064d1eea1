#include "soak/ledger.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "soak/options.hpp"

namespace simba::soak {

Ledger::Ledger(const std::filesystem::path& file, std::size_t mutexes) {
  map(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mutexes);  // NOLINT(hicpp-signed-bitwise)
  header().mutexes = mutexes;
}

Ledger::Ledger(const std::filesystem::path& file) {
  map(file, O_RDWR | O_CLOEXEC, 0);  // NOLINT(hicpp-signed-bitwise)
  if (size_ < size_for(0) || size_ < size_for(mutexes())) {
    throw std::runtime_error{fmt::format("{} is no ledger", file.string())};
  }
}

Ledger::~Ledger() { ::munmap(memory_, size_); }

/// New pages are zero, which is the beginning of everything here.
void Ledger::map(const std::filesystem::path& file, int flags, std::size_t mutexes) {
  const auto failed = [&] {
    return std::system_error{errno, std::generic_category(), file.string()};
  };
  const int descriptor = ::open(file.c_str(), flags, 0600);
  if (descriptor < 0) throw failed();
  struct stat facts {};
  if (mutexes != 0 && ::ftruncate(descriptor, static_cast<off_t>(size_for(mutexes))) != 0) {
    throw failed();
  }
  if (::fstat(descriptor, &facts) != 0) throw failed();
  size_ = static_cast<std::size_t>(facts.st_size);
  memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);  // NOLINT
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (memory_ == MAP_FAILED) throw failed();  // NOLINT
}

std::size_t Ledger::size_for(std::size_t mutexes) noexcept {
  static_assert(sizeof(Header) <= sizeof(Slot));
  return (mutexes + 1) * sizeof(Slot);
}

Ledger::Header& Ledger::header() const noexcept { return *static_cast<Header*>(memory_); }

Ledger::Slot& Ledger::slot(std::size_t mutex) const noexcept {
  return static_cast<Slot*>(memory_)[mutex + 1];
}

void Ledger::enter(std::size_t mutex, FencingToken token, LocalTime until, LocalTime now) {
  Slot& one = slot(mutex);
  const std::int64_t believed = one.until.exchange(until.time_since_epoch().count());
  if (const std::int64_t early = believed - now.time_since_epoch().count(); early > 0) {
    header().mutex = mutex;
    header().early = early;
    ++header().overlaps;
  }
  std::uint64_t greatest = one.token.load();
  do {
    if (greatest >= token) {
      header().mutex = mutex;
      header().before = greatest;
      header().after = token;
      ++header().falls;
      break;
    }
  } while (!one.token.compare_exchange_weak(greatest, token));
  ++one.entered;
  const std::uint64_t count = one.counter.load(std::memory_order_relaxed);
  std::this_thread::yield();  // another owner, if there were one, would come in between
  one.counter.store(count + 1, std::memory_order_relaxed);
}

void Ledger::leave(std::size_t mutex, LocalTime until) {
  std::int64_t mine = until.time_since_epoch().count();
  slot(mutex).until.compare_exchange_strong(mine, 0);
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

std::string Ledger::faults(std::uint64_t interrupted) const {
  std::string text;
  const Header& all = header();
  if (all.overlaps > 0) {
    text += fmt::format("{} ownerships began while another lasted, e.g. of {}, {:.1f} ms early\n",
                        all.overlaps.load(), mutex_name(all.mutex),
                        static_cast<double>(all.early) / 1e6);
  }
  if (all.falls > 0) {
    text += fmt::format("{} tokens did not grow, e.g. of {}: {} after {}\n", all.falls.load(),
                        mutex_name(all.mutex), all.after.load(), all.before.load());
  }
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < mutexes(); ++i) missing += slot(i).entered - slot(i).counter;
  if (missing > interrupted) text += fmt::format("{} updates of counters were lost\n", missing);
  return text;
}

}  // namespace simba::soak
