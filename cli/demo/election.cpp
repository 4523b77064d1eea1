#include "cli/demo/election.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/child/child.hpp"
#include "cli/errors.hpp"

namespace simba::cli::demo {
namespace {

using std::chrono::milliseconds;

/// Far beyond every bound of the leases here.
constexpr milliseconds patience{30'000};

/// How soon we notice that a candidate has ended.
constexpr milliseconds look_at_processes{50};

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

/// What a candidate does between fork and exec.
[[noreturn]] void become(char* const* words, const char* folder, int output, pid_t parent,
                         const sigset_t& mask) {
  ::setpgid(0, 0);  // so that Ctrl-C is ours alone
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || ::chdir(folder) != 0) ::_exit(127);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv("/proc/self/exe", words);
  ::_exit(127);
}

}  // namespace

Election::Election(std::string folder, std::vector<std::string> options, Signals& signals,
                   View& view)
    : folder_{std::move(folder)}, options_{std::move(options)}, signals_{signals}, view_{view} {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  lines_ = ends[0];
  output_ = ends[1];
  ::fcntl(lines_, F_SETFL, O_NONBLOCK);
}

Election::~Election() {
  for (auto& [name, candidate] : candidates_) end(candidate);
  ::close(lines_);
  ::close(output_);
}

void Election::start(const std::string& name) {
  Candidate& candidate = candidates_[name];
  end(candidate);
  candidate = {};
  std::vector<std::string> arguments{"simba", "elect", "--json", "--id", name};
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (auto& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  candidate.pid = ::fork();
  if (candidate.pid == 0) {
    become(words.data(), folder_.c_str(), output_, parent, signals_.original_mask());
  }
  if (candidate.pid < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  candidate.running = true;
  view_.tell(fmt::format("{} starts as a candidate (process {})", name, candidate.pid),
             {{"event", "started"}, {"candidate", name}, {"pid", candidate.pid}});
  show();
}

void Election::linger(milliseconds span) {
  const LocalTime until = clock_->now() + span;
  while (clock_->now() < until) pump(until);
}

std::string Election::await_leader() {
  const LocalTime until = clock_->now() + patience;
  for (;;) {
    if (const auto name = leader()) return *name;
    if (clock_->now() >= until) {
      throw Failure{ExitCode::internal, "nobody became leader within 30 s"};
    }
    pump(until);
  }
}

std::optional<LocalTime> Election::await_successor(const std::string& name, milliseconds limit) {
  const LocalTime until = clock_->now() + limit;
  for (;;) {
    if (const auto other = leader(); other && *other != name) {
      return candidates_.at(*other).lead_at;
    }
    if (clock_->now() >= until) return std::nullopt;
    pump(until);
  }
}

LocalTime Election::send(const std::string& name, int signal) {
  read_lines();  // what was said before this counts as it was
  Candidate& candidate = candidates_.at(name);
  const LocalTime before = clock_->now();
  ::kill(candidate.pid, signal);
  candidate.role = role_after(signal, candidate.role);
  show();
  return before;
}

void Election::pump(LocalTime until) {
  std::array<pollfd, 2> files{{{signals_.file(), POLLIN, 0}, {lines_, POLLIN, 0}}};
  const auto left = std::chrono::ceil<milliseconds>(until - clock_->now());
  ::poll(files.data(), files.size(),
         static_cast<int>(std::clamp(left, milliseconds{0}, look_at_processes).count()));
  while (const int signal = signals_.next()) {
    if (signal == SIGTSTP) {
      ::raise(SIGSTOP);
    } else if (is_ending(signal)) {
      throw Interrupted{signal};
    }
  }
  check_ended();
  show();
}

void Election::read_lines() {
  std::array<char, 4096> piece{};
  for (;;) {
    const auto count = ::read(lines_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    pending_.append(piece.data(), static_cast<std::size_t>(count));
  }
  for (std::size_t end = 0; (end = pending_.find('\n')) != std::string::npos;) {
    const std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    hear(line);
  }
}

void Election::hear(std::string_view line) {
  const Json object = Json::parse(line);
  const std::string event = object.value("event", "");
  if (event == "error") last_error_ = object.value("message", "");
  const auto found = candidates_.find(object.value("contender_id", ""));
  if (found == candidates_.end()) return;
  auto& [name, candidate] = *found;
  if (event == "acquired") {
    hear_leader(name, object.at("fencing_token"));
  } else if (event == "released" || event == "lost") {
    candidate.leads = false;
    if (candidate.role == Role::leader || candidate.role == Role::frozen) {
      candidate.role = Role::follower;
    }
    view_.tell(fmt::format("{} is no longer leader", name),
               {{"event", event}, {"candidate", name}});
  }
}

void Election::hear_leader(const std::string& name, FencingToken token) {
  if (token <= last_token_) {
    faults_.push_back(fmt::format("fencing token of {} ({}) is not higher than the last one ({})",
                                  name, token, last_token_));
  }
  last_token_ = std::max(last_token_, token);
  for (const auto& [other, one] : candidates_) {
    const bool out = one.role == Role::killed || one.role == Role::frozen;
    if (other != name && one.leads && !out) {
      faults_.push_back(fmt::format("{} and {} led at the same time", other, name));
    }
  }
  Candidate& candidate = candidates_.at(name);
  candidate.leads = true;
  candidate.lead_at = clock_->now();
  candidate.token = token;
  if (candidate.role == Role::follower) candidate.role = Role::leader;
  ++leaders_seen_;
  show();
  view_.tell(
      view_.palette().paint(Colour::green, fmt::format("{} leads, fencing token {}", name, token)),
      {{"event", "acquired"}, {"candidate", name}, {"token", token}});
}

void Election::check_ended() {
  std::vector<std::pair<std::string, int>> ended;
  for (auto& [name, candidate] : candidates_) {
    int status = 0;
    if (!candidate.running || ::waitpid(candidate.pid, &status, WNOHANG) != candidate.pid) continue;
    candidate.running = false;
    ended.emplace_back(name, status);
  }
  read_lines();  // after that: all that the ended ones have said
  for (const auto& [name, status] : ended) {
    Candidate& candidate = candidates_.at(name);
    candidate.leads = false;
    if (candidate.role == Role::stopping && status == 0) {
      candidate.role = Role::stopped;
    } else if (candidate.role != Role::killed) {
      const int code = exit_code_of_status(status);
      throw Failure{code < to_int(ExitCode::usage) ? ExitCode::internal : ExitCode{code},
                    fmt::format("candidate {} ended with exit code {}{}{}", name, code,
                                last_error_.empty() ? "" : ": ", last_error_)};
    }
  }
}

void Election::end(Candidate& candidate) noexcept {
  if (!std::exchange(candidate.running, false)) return;
  ::kill(candidate.pid, SIGKILL);
  while (::waitpid(candidate.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<std::string> Election::leader() const {
  for (const auto& [name, candidate] : candidates_) {
    if (candidate.leads && candidate.role == Role::leader) return name;
  }
  return std::nullopt;
}

void Election::show() {
  std::vector<CandidateState> states;
  states.reserve(candidates_.size());
  for (const auto& [name, candidate] : candidates_) {
    states.push_back(
        {.name = name, .pid = candidate.pid, .role = candidate.role, .token = candidate.token});
  }
  view_.show(states);
}

}  // namespace simba::cli::demo
