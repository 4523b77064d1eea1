// What 10,000 started services in one process cost: threads, memory, and CPU when nothing happens
// but renewals.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <malloc.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "figure.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/memory/memory_factory.hpp"

namespace simba::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t services = 10'000;
constexpr auto observed = 10s;

class Quiet final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;
  void on_acquired(const MutexState& /*state*/) override {}
  void on_released(const MutexState& /*state*/) override {}
};

double threads() {
  return static_cast<double>(
      std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {}));
}

double heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Member {
  explicit Member(const std::string& mutex, MutexContendServiceFactory& factory)
      : contender{mutex}, service{factory.create_mutex_contend_service(contender)} {}

  Quiet contender;
  std::unique_ptr<MutexContendService> service;
};

int run() {
  ContentionOptions options;
  options.ttl = 10s;
  const auto factory = memory::make_memory_factory(options);
  std::vector<std::unique_ptr<Member>> members;
  members.reserve(services);

  const double heap_before = heap_bytes();
  for (std::size_t i = 0; i < services; ++i) {
    members.push_back(std::make_unique<Member>("mutex-" + std::to_string(i), *factory));
    members.back()->service->start();
  }
  const auto owns = [](const auto& member) { return member->service->is_owner(); };
  while (!std::all_of(members.begin(), members.end(), owns)) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(1s);  // the callbacks of the last ones
  const double heap_each = (heap_bytes() - heap_before) / services;

  const double cpu_before = cpu_seconds();
  std::this_thread::sleep_for(observed);
  const double cpu_share =
      (cpu_seconds() - cpu_before) / std::chrono::duration<double>{observed}.count();

  if (!std::all_of(members.begin(), members.end(), owns)) {
    std::puts("services_bench: a service lost its mutex");
    return EXIT_FAILURE;
  }
  Figures figures;
  figures.at_most("threads of a process with 10000 services", threads(), 6, "threads");
  figures.at_most("heap of a started service and its contender", heap_each, 4096, "bytes");
  figures.at_most("CPU of 10000 services, ttl 10 s, idle", 100 * cpu_share, 1, "% of a core");
  return figures.exit_code();
}

}  // namespace
}  // namespace simba::bench

int main() { return simba::bench::run(); }
