#include "cli/child/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/child/descendants.hpp"
#include "cli/errors.hpp"
#include "core/text.hpp"
#include "simba/core/clock.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace simba::cli {
namespace {

constexpr auto by_file = static_cast<idtype_t>(3);  // P_PIDFD, which not every header has

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

/// "redis://app:secret@host?password=secret&ttl=5s" as "redis://app@host?ttl=5s": a simba inside
/// then fails, instead of using another store.
std::string without_password(std::string_view url) {
  const auto query_at = std::min(url.find('?'), url.size());
  std::string kept{url.substr(0, query_at)};
  if (const auto begin = kept.find("://"); begin != std::string::npos) {
    const auto user = begin + 3;
    const auto at = kept.rfind('@', kept.find_first_of("/#", user));
    const auto colon = kept.find(':', user);
    if (at != std::string::npos && at > user && colon < at) {
      kept.erase(colon, at - colon + (colon == user ? 1 : 0));
    }
  }
  for (auto query = url.substr(query_at); !query.empty();) {
    const auto end = std::min(query.find('&', 1), query.size());
    const auto parameter = query.substr(1, end - 1);
    const auto key = parameter.substr(0, parameter.find('='));
    if (!key.ends_with("assword")) {
      kept += kept.find('?') == std::string::npos ? '?' : '&';
      kept += parameter;
    }
    query.remove_prefix(end);
  }
  return kept;
}

/// As settings are read, SIMBA_REDIS_sentinel-password is the same as
/// SIMBA_REDIS_SENTINEL_PASSWORD.
std::string as_setting(std::string_view name) {
  std::string setting{name};
  for (char& c : setting) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return setting;
}

/// Our environment with some variables replaced.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables, const Passwords& passwords) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text = *line;
    const auto name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(variables.begin(), variables.end(),
                                      [&](const auto& pair) { return pair.first == name; });
    if (replaced) continue;
    const auto& secrets = passwords.variables;
    const bool secret = std::find(secrets.begin(), secrets.end(), name) != secrets.end();
    if (secret && !passwords.shared) continue;
    const std::string setting = as_setting(name);
    const bool ours =
        !passwords.shared && setting.starts_with("SIMBA_") && name.size() < text.size();
    if (ours && setting.ends_with("_PASSWORD")) continue;
    if (ours && (setting == "SIMBA_BACKEND" || setting.ends_with("_URL"))) {
      lines.push_back(fmt::format("{}={}", name, without_password(text.substr(name.size() + 1))));
    } else {
      lines.emplace_back(text);
    }
  }
  for (const auto& [name, value] : variables) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

class Descriptor {
 public:
  explicit Descriptor(int file) : file_{file} {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return file_; }

 private:
  int file_;
};

/// A number above all open descriptors, and above those that other threads open meanwhile.
int descriptor_limit() {
  constexpr int reserve = 64;
  const auto open = open_descriptors();
  return (open.empty() ? 0 : open.back()) + reserve;
}

/// As one word for a shell.
std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += R"('\'')";
    } else {
      text += c;
    }
  }
  return text += '\'';
}

Failure not_executed(const std::string& name, int error) {
  if (error == ECANCELED) {
    return Failure{ExitCode::lost, "mutex lost before \"" + name + "\" could be started"};
  }
  const bool absent = error == ENOENT || error == ENOTDIR;
  std::string text =
      fmt::format("cannot run \"{}\": {}", name, std::system_category().message(error));
  if (absent && name.find_first_of(" \t\n") != std::string::npos) {
    text += fmt::format("; \"{}\" is one word; use sh -c {}", name, shell_word(name));
  }
  return Failure{absent ? ExitCode::not_found : ExitCode::not_executable, text};
}

}  // namespace

std::vector<int> open_descriptors() {
  std::vector<int> open;
  std::error_code missing;
  for (const auto& file : std::filesystem::directory_iterator{"/proc/self/fd", missing}) {
    open.push_back(detail::parse_number<int>(file.path().filename().string()).value_or(-1));
  }
  if (missing) {
    for (int number = 0; number < 1024; ++number) open.push_back(number);
  }
  // The one that we have looked with is closed again.
  std::erase_if(open, [](int number) { return ::fcntl(number, F_GETFD) < 0; });
  std::sort(open.begin(), open.end());
  return open;
}

int exit_code_of_status(int status) noexcept {
  return WIFSIGNALED(status) ? exit_code_of_signal(WTERMSIG(status)) : WEXITSTATUS(status);
}

Child::Child(const Program& program, LocalTime lease_end, std::chrono::nanoseconds kill_after,
             const Child* release_hook)
    : name_{program.words.front()},
      kill_after_{kill_after},
      spared_{release_hook == nullptr ? -1 : release_hook->guardian_},
      waits_{program.release_hook.has_value()} {
  // Everything that the guardian needs is made here: after the fork it has system calls only.
  auto words = program.words;
  auto lines = environment_with(program.variables, program.passwords);
  const auto argv = pointers_to(words);
  const auto envp = pointers_to(lines);
  auto lost_variables = program.variables;
  ReleaseHookPlan release_hook_plan;
  if (program.release_hook) {
    std::erase_if(lost_variables, [&](const auto& pair) {
      return pair.first == program.release_hook->lost_variable.first;
    });
    lost_variables.push_back(program.release_hook->lost_variable);
    release_hook_plan = {.limit = program.release_hook->limit,
                         .done = program.release_hook->done.c_str(),
                         .failed = program.release_hook->failed.c_str(),
                         .killed = program.release_hook->killed.c_str()};
  }
  auto lost_lines = environment_with(lost_variables, program.passwords);
  const auto lost_envp = pointers_to(lost_lines);
  release_hook_plan.lost_envp = lost_envp.data();
  const Descriptor input{
      program.input == Program::Input::none ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1};
  // What the guardian leaves behind when it is killed becomes ours.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  channel_ = ends[0];
  const Descriptor theirs{ends[1]};
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    ::close(channel_);
    fail("mmap");
  }
  shared_ = new (memory) Shared;
  extend(lease_end);

  const GuardianPlan plan{.channel = theirs.get(),
                          .descriptors = descriptor_limit(),
                          .passed_on = program.passed_on.data(),
                          .passed_on_count = program.passed_on.size(),
                          .shared = shared_,
                          .kill_after = kill_after,
                          .argv = argv.data(),
                          .envp = envp.data(),
                          .input = input.get(),
                          .output = program.output,
                          .errors = program.errors,
                          .terminal = program.terminal,
                          .mask = program.mask,
                          .ignores_pipe = program.ignores_pipe,
                          .manager = program.manager,
                          // Its guardian takes us for gone when nobody has this any more.
                          .kept = release_hook == nullptr ? -1 : release_hook->channel_,
                          .release_hook = program.release_hook ? &release_hook_plan : nullptr};
  guardian_ = ::fork();
  if (guardian_ == 0) run_guardian(plan);
  if (guardian_ < 0) {
    const int error = errno;
    ::close(channel_);
    ::munmap(shared_, sizeof(Shared));
    throw std::system_error{error, std::generic_category(), "fork"};
  }
  open_guardian();
}

/// Another thread, which reaps orphans, may have reaped it at any time; its number may then be a
/// stranger's. What the file stands for does not change, once it is known to be our child.
void Child::open_guardian() noexcept {
  guardian_file_ = static_cast<int>(::syscall(SYS_pidfd_open, guardian_, 0));
  bool gone = guardian_file_ < 0 && errno == ESRCH;
  if (guardian_file_ >= 0) {
    siginfo_t state{};
    gone = ::waitid(by_file, static_cast<id_t>(guardian_file_), &state,
                    WEXITED | WNOHANG | WNOWAIT) != 0 &&
           errno == ECHILD;
  }
  if (!gone) return;
  if (guardian_file_ >= 0) ::close(guardian_file_);
  guardian_file_ = guardian_ = -1;
}

void Child::wait_for_guardian() noexcept {
  if (guardian_ <= 0) return;
  siginfo_t state{};
  const bool has_file = guardian_file_ >= 0;
  while (::waitid(has_file ? by_file : P_PID,
                  static_cast<id_t>(has_file ? guardian_file_ : guardian_), &state, WEXITED) != 0 &&
         errno == EINTR) {
  }
  guardian_ = -1;
}

Child::~Child() {
  if (!ended_ && !waits_) {
    end(std::chrono::ceil<std::chrono::milliseconds>(kill_after_));
    ::shutdown(channel_, SHUT_WR);
    try {
      while (!ended_) {
        pollfd wait{channel_, POLLIN, 0};
        if (!next()) ::poll(&wait, 1, static_cast<int>(look_at_end.count()));
      }
    } catch (const Failure&) {  // it has not even begun
    }
  }
  if (guardian_file_ >= 0) ::close(guardian_file_);
  ::close(channel_);
  ::munmap(shared_, sizeof(Shared));
}

std::optional<Child::Event> Child::next() {
  if (ended_) return std::nullopt;
  // It is stopped, most likely. Without it the kernel and we do its work.
  if (make_system_clock()->now() >= overdue_at_) {
    overdue_ = true;
    if (guardian_file_ >= 0) {
      ::syscall(SYS_pidfd_send_signal, guardian_file_, SIGKILL, nullptr, 0);
    } else if (guardian_ > 0) {
      ::kill(guardian_, SIGKILL);
    }
  }
  Report report;
  auto size = ::recv(channel_, &report, sizeof report, MSG_DONTWAIT);
  // It has ended without reading our last order. What it has said before is still there.
  if (size < 0 && errno == ECONNRESET) {
    size = ::recv(channel_, &report, sizeof report, MSG_DONTWAIT);
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size <= 0) return end_unguarded();
  switch (report.kind) {
    case Report::Kind::forked:
      group_ = report.value;
      return next();
    case Report::Kind::started:
      return Event{.kind = Event::Kind::started};
    case Report::Kind::stopped:
      return Event{.kind = Event::Kind::stopped, .value = report.value};
    case Report::Kind::failed:
    case Report::Kind::ended:
      break;
  }
  ended_ = true;
  reap_guardian();
  if (report.kind == Report::Kind::failed) throw not_executed(name_, report.value);
  return Event{.value = report.value,
               .leftovers = report.leftovers != 0,
               .forced = report.forced != 0,
               .killed = report.killed != 0,
               .survivors = report.survivors != 0};
}

/// The kernel has killed CMD with its guardian; what else there is has become our child.
Child::Event Child::end_unguarded() noexcept {
  Event event{.value = SIGKILL,
              .forced = overdue_at_ != never,
              .killed = true,
              .unguarded = true,
              .overdue = overdue_};
  // The guardian is gone, or about to be: nothing new comes from it.
  wait_for_guardian();
  while (group_ > 0) {
    int status = 0;
    pid_t process = 0;
    while ((process = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (process == group_) event.value = status;
    }
    if (process < 0) break;  // without children there is nothing below us either
    // One by one: the number of the group may be that of a stranger's, now that CMD was reaped.
    Descendants descendants = look_for_descendants(group_, SIGKILL, spared_);
    if (!descendants.known) {
      descendants.living = ::kill(-group_, SIGKILL) == 0;
      descendants.foreign = !descendants.living && errno == EPERM;
    }
    event.survivors = descendants.foreign;
    if (!descendants.living) break;
    ::poll(nullptr, 0, static_cast<int>(look_at_end.count()));
  }
  ended_ = true;
  reap_guardian();
  return event;
}

void Child::reap_guardian() noexcept {
  wait_for_guardian();
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // what has left the group and ended
  }
}

void Child::begin(Occasion occasion) noexcept {
  waits_ = false;
  order({.kind = Order::Kind::begin, .value = occasion == Occasion::loss ? 1 : 0});
}

void Child::extend(LocalTime lease_end) noexcept {
  shared_->lease_end.store(lease_end.time_since_epoch().count());
}

void Child::signal(int number, Sender sender) noexcept {
  order({.kind = Order::Kind::signal,
         .value = number,
         .by_manager = sender == Sender::manager ? 1 : 0});
}

void Child::end(std::chrono::milliseconds kill_after, Sender sender) noexcept {
  kill_after =
      std::min(kill_after, std::chrono::milliseconds{std::numeric_limits<std::int32_t>::max()});
  expect_end(kill_after);
  order({.kind = Order::Kind::end,
         .value = static_cast<std::int32_t>(kill_after.count()),
         .by_manager = sender == Sender::manager ? 1 : 0});
}

void Child::expect_end(std::chrono::nanoseconds kill_after) noexcept {
  constexpr std::chrono::nanoseconds most = std::chrono::seconds{3};
  const LocalTime due_from = std::min(make_system_clock()->now(),
                                      LocalTime{LocalTime::duration{shared_->lease_end.load()}});
  overdue_at_ = std::min(overdue_at_, due_from + kill_after + std::min(kill_after / 3, most));
}

void Child::order(const Order& order) const noexcept {
  ::send(channel_, &order, sizeof order, MSG_NOSIGNAL);
}

}  // namespace simba::cli
