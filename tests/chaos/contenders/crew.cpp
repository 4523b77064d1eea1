#include "chaos/contenders/crew.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "chaos/raw_clock.hpp"
#include "support/patience.hpp"
#include "support/processes/process_state.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;

/// Who was seen to own so long ago still counts as the owner.
constexpr std::int64_t fresh = 30 * nanoseconds_per_millisecond;

constexpr auto end_limit = 20s;

std::string sanitizer_options() {
  // Ours is loaded before the sanitizer, which then complains.
  const char* const own = std::getenv("ASAN_OPTIONS");
  return fmt::format("{}{}verify_asan_link_order=0", own == nullptr ? "" : own,
                     own == nullptr ? "" : ":");
}

}  // namespace

Crew::Crew(Settings settings) : settings_{std::move(settings)}, status_{settings_.files.status()} {
  for (int lane = 0; lane < size(); ++lane) {
    members_.push_back(std::make_unique<Member>(settings_.files, lane));
    auto& member = *members_.back();
    member.which.lane = lane;
    member.which.jvm = is_jvm(lane);
    for (const auto port : settings_.ports) {
      member.proxies.push_back(std::make_unique<support::FaultProxy>("127.0.0.1", port));
      if (!member.detours->add(port, member.proxies.back()->port())) {
        throw std::runtime_error{"too many servers for the table of detours"};
      }
    }
  }
  for (int lane = 0; lane < size(); ++lane) {
    start(lane);
  }
}

std::optional<int> Crew::owner(std::size_t mutex) const {
  const auto now = raw_now();
  std::optional<int> found;
  std::int64_t newest = now - fresh;
  for (int lane = 0; lane < size(); ++lane) {
    const auto at = status_->sights[static_cast<std::size_t>(lane)][mutex].owned_at.load();
    if (at > newest) {
      newest = at;
      found = lane;
    }
  }
  return found;
}

bool Crew::owned_since(std::size_t mutex, std::int64_t moment) const {
  for (int lane = 0; lane < size(); ++lane) {
    if (status_->sights[static_cast<std::size_t>(lane)][mutex].owned_at.load() > moment) {
      return true;
    }
  }
  return false;
}

std::optional<int> Crew::runner(std::size_t schedule) const {
  const auto now = raw_now();
  for (int lane = 0; lane < settings_.size; ++lane) {
    const auto& slots = status_->slots[static_cast<std::size_t>(lane)][schedule];
    if (slots.running_at.load() > now - fresh) {
      return lane;
    }
  }
  return std::nullopt;
}

bool Crew::begun_since(std::size_t schedule, std::int64_t moment) const {
  for (int lane = 0; lane < settings_.size; ++lane) {
    if (status_->slots[static_cast<std::size_t>(lane)][schedule].begun_at.load() > moment) {
      return true;
    }
  }
  return false;
}

std::string kill_running(support::ChildProcess& process, const std::string& name) {
  const bool ran = process.running();
  process.kill();
  const int code = process.wait();
  return ran && code == 128 + SIGKILL ? ""
                                      : fmt::format("{} has ended by itself, with {}", name, code);
}

void Crew::kill(int lane) {
  const auto& member = at(lane);
  const auto wrong = kill_running(*member.process, member.which.name());
  if (!wrong.empty()) {
    wrong_.push_back(wrong);
    return;
  }
  for (auto& which : incarnations_) {
    which.killed = which.killed || (which.lane == lane && which.life == member.which.life);
  }
}

void Crew::start(int lane) {
  auto& member = at(lane);
  if (member.process) {
    ++member.which.life;
  }
  incarnations_.push_back(member.which);
  member.process = member.which.jvm ? launch_jvm(member.which) : launch(member.which);
}

std::unique_ptr<support::ChildProcess> Crew::launch(const Incarnation& which) const {
  const auto& files = settings_.files;
  const auto own_clocks = files.clocks(Incarnation{which.lane, 0}.name());
  const auto store_clocks = settings_.clock_of_hosts ? own_clocks : settings_.libraries / "clocks";
  return std::make_unique<support::ChildProcess>(
      std::vector<std::string>{support::own_program().string(), "contender", files.folder.string(),
                               std::to_string(which.lane), std::to_string(which.life),
                               std::to_string(settings_.seed * 1'000 + incarnations_.size()),
                               settings_.url, store_clocks.string()},
      support::ChildProcess::Variables{
          {"LD_PRELOAD", fmt::format("{0}/libsimba-clock-skew.so:{0}/libsimba-detour.so",
                                     settings_.libraries.string())},
          {"SIMBA_CLOCK_SKEW", own_clocks.string()},
          {"SIMBA_DETOURS", files.detours(which.lane).string()},
          {"ASAN_OPTIONS", sanitizer_options()}},
      support::ChildProcess::EndSignals::blocked);
}

std::unique_ptr<support::ChildProcess> Crew::launch_jvm(const Incarnation& which) const {
  const auto& files = settings_.files;
  const auto record = files.record(which, 0);
  const std::ofstream made{record, std::ios::app};  // it may be ended before it has begun
  return std::make_unique<support::ChildProcess>(
      settings_.jvm_command({.id = which.name(),
                             .record = record.string(),
                             .status = files.status().string(),
                             .sight = Status::offset_of_first(which.lane),
                             .seed = settings_.seed * 1'000 + incarnations_.size()}),
      support::ChildProcess::Variables{
          {"LD_PRELOAD", fmt::format("{}/libsimba-detour.so", settings_.libraries.string())},
          {"SIMBA_DETOURS", files.detours(which.lane).string()},
          {"ASAN_OPTIONS", sanitizer_options()}},
      support::ChildProcess::EndSignals::blocked);
}

void Crew::pause(int lane) {
  const auto& process = *at(lane).process;
  process.signal(SIGSTOP);
  support::eventually([&] { return support::is_stopped(process.id()); });
}

bool Crew::holds_file_lock(int lane) { return support::holds_file_lock(at(lane).process->id()); }

void Crew::resume(int lane) { at(lane).process->signal(SIGCONT); }

std::vector<support::FaultProxy*> Crew::ways(int lane) {
  std::vector<support::FaultProxy*> result;
  for (const auto& proxy : at(lane).proxies) {
    result.push_back(proxy.get());
  }
  return result;
}

std::vector<std::string> Crew::dead() {
  std::vector<std::string> result;
  for (const auto& member : members_) {
    if (!member->process->running()) {
      result.push_back(fmt::format("{} has ended by itself, with {}", member->which.name(),
                                   member->process->wait()));
    }
  }
  return result;
}

std::vector<std::string> Crew::strays() const {
  std::vector<std::string> result;
  for (const auto& member : members_) {
    std::uint64_t connections = settings_.ports.empty() ? 1 : 0;
    for (const auto& proxy : member->proxies) {
      connections += proxy->counters().connections;
    }
    if (connections == 0) {
      result.push_back(fmt::format("{} does not use its proxies", member->which.name()));
    }
  }
  return result;
}

std::vector<std::string> Crew::end() {
  auto wrong = std::exchange(wrong_, {});
  const auto ended_before = dead();
  wrong.insert(wrong.end(), ended_before.begin(), ended_before.end());
  for (const auto& member : members_) {
    member->process->signal(SIGCONT);
    member->process->signal(SIGTERM);
  }
  for (const auto& member : members_) {
    const bool ended = support::within(end_limit, [&] { return !member->process->running(); });
    if (!ended) {
      member->process->kill();
      wrong.push_back(fmt::format("{} did not end when asked to", member->which.name()));
    } else if (const int code = member->process->wait();
               code != 0 && (!member->which.jvm || code != 128 + SIGTERM)) {
      wrong.push_back(fmt::format("{} ended with {}", member->which.name(), code));
    }
  }
  return wrong;
}

}  // namespace simba::chaos
