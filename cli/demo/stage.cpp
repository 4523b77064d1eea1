#include "cli/demo/stage.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include <fmt/format.h>

#include "cli/errors.hpp"

namespace simba::cli::demo {
namespace {

using std::chrono::milliseconds;

/// Far beyond every bound of the leases here.
constexpr milliseconds patience{30'000};

Role role_after(int signal, Role before) noexcept {
  switch (signal) {
    case SIGTERM:
      return Role::stopping;
    case SIGKILL:
      return Role::killed;
    case SIGSTOP:
      return Role::frozen;
    default:
      return before;
  }
}

}  // namespace

Stage::Stage(StoreSetting setting, Signals& signals, View& view)
    : setting_{std::move(setting)}, signals_{signals}, view_{view} {}

void Stage::start(const std::string& name) {
  Member& member = members_[name];
  member = {};
  member.process = std::make_unique<CandidateProcess>(name, setting_, signals_.original_mask());
  view_.tell(fmt::format("{} starts as a candidate (process {})", name, member.process->pid()),
             {{"event", "started"}, {"candidate", name}, {"pid", member.process->pid()}});
  show();
}

void Stage::linger(milliseconds span) {
  const LocalTime end = local_now() + span;
  while (local_now() < end) pump(end);
}

std::string Stage::await_leader() {
  const LocalTime end = local_now() + patience;
  for (;;) {
    if (const auto name = leader()) return *name;
    if (local_now() >= end) throw Failure{ExitCode::internal, "nobody became leader within 30 s"};
    pump(end);
  }
}

std::optional<Succession> Stage::await_successor(const std::string& name, milliseconds limit) {
  const LocalTime end = local_now() + limit;
  for (;;) {
    if (const auto other = leader(); other && *other != name) {
      return Succession{.leader = *other, .at = members_.at(*other).lead_at};
    }
    if (local_now() >= end) return std::nullopt;
    pump(end);
  }
}

LocalTime Stage::send(const std::string& name, int signal) {
  Member& member = members_.at(name);
  const LocalTime before = local_now();
  member.process->signal(signal);
  member.role = role_after(signal, member.role);
  if (signal == SIGKILL || signal == SIGSTOP) member.out_at = before;
  show();
  return before;
}

void Stage::pump(LocalTime until) {
  std::vector<pollfd> files{{signals_.file(), POLLIN, 0}};
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) {
    if (member.process->ended()) continue;
    files.push_back({member.process->file(), POLLIN, 0});
    names.push_back(name);
  }
  const auto left = std::chrono::ceil<milliseconds>(until - local_now());
  ::poll(files.data(), files.size(), static_cast<int>(std::max(left, milliseconds{0}).count()));
  while (const int signal = signals_.next()) {
    if (signal == SIGTSTP) {
      ::raise(SIGSTOP);
    } else if (is_ending(signal)) {
      throw Interrupted{signal};
    }
  }
  // Until there is nothing: who leads says so after the one before has said that it does not, so
  // the second look finds what the first one missed. Then in the order in which it happened.
  std::vector<std::pair<std::string, News>> all;
  for (std::size_t known = 1; known != all.size();) {
    known = all.size();
    for (const auto& name : names) {
      for (const News& news : members_.at(name).process->read()) all.emplace_back(name, news);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
  for (const auto& [name, news] : all) hear(name, members_.at(name), news);
  for (const auto& name : names) {
    Member& member = members_.at(name);
    if (!member.process->ended()) continue;
    member.leads = false;
    if (member.role == Role::stopping) member.role = Role::stopped;
  }
  show();
}

void Stage::hear(const std::string& name, Member& member, const News& news) {
  if (news.kind == News::Kind::follows) {
    member.leads = false;
    member.out_at = never;
    if (member.role == Role::leader || member.role == Role::frozen) member.role = Role::follower;
    view_.tell(fmt::format("{} is no longer leader", name),
               {{"event", "released"}, {"candidate", name}});
    return;
  }
  check_lead(name, news);
  member.leads = true;
  member.lead_at = news.at;
  member.token = news.token;
  if (member.role == Role::follower) member.role = Role::leader;
  ++leaders_seen_;
  show();
  view_.tell(view_.palette().paint(Colour::green,
                                   fmt::format("{} leads, fencing token {}", name, news.token)),
             {{"event", "acquired"}, {"candidate", name}, {"token", news.token}});
}

void Stage::check_lead(const std::string& name, const News& news) {
  if (news.token <= last_token_) {
    faults_.push_back(fmt::format("fencing token of {} ({}) is not higher than the last one ({})",
                                  name, news.token, last_token_));
  }
  last_token_ = std::max(last_token_, news.token);
  for (const auto& [other, member] : members_) {
    if (other != name && member.leads && news.at < member.out_at) {
      faults_.push_back(fmt::format("{} and {} led at the same time", other, name));
    }
  }
}

std::optional<std::string> Stage::leader() const {
  for (const auto& [name, member] : members_) {
    if (member.leads && member.role == Role::leader) return name;
  }
  return std::nullopt;
}

void Stage::show() {
  std::vector<Portrait> portraits;
  portraits.reserve(members_.size());
  for (const auto& [name, member] : members_) {
    portraits.push_back(
        {.name = name, .pid = member.process->pid(), .role = member.role, .token = member.token});
  }
  view_.show(portraits);
}

}  // namespace simba::cli::demo
