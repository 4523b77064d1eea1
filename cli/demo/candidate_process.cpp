#include "cli/demo/candidate_process.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "cli/child/signals.hpp"
#include "cli/errors.hpp"
#include "cli/terminal/log.hpp"
#include "simba/core/abstract_mutex_contender.hpp"

namespace simba::cli::demo {
namespace {

void tell(const News& news) {
  const std::string line = to_line(news) + "\n";
  // Short enough for a pipe to take it whole. Where the stage is gone we are killed soon.
  [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, line.data(), line.size());
}

class DemoContender final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;

  void on_acquired(const MutexState& state) override {
    tell({.kind = News::Kind::leads, .token = state.after().fencing_token(), .at = local_now()});
  }
  void on_released(const MutexState& /*state*/) override {
    tell({.kind = News::Kind::follows, .token = 0, .at = local_now()});
  }
};

[[noreturn]] void become(char* const* words, int output, pid_t parent, const sigset_t& mask) {
  ::setpgid(0, 0);  // so that Ctrl-C is ours alone
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // gone before we had asked to be told
  ::dup2(output, STDOUT_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv("/proc/self/exe", words);
  ::_exit(127);
}

}  // namespace

std::string to_line(const News& news) {
  std::ostringstream line;
  line << (news.kind == News::Kind::leads ? "leads " : "follows ") << news.token << ' '
       << news.at.time_since_epoch().count();
  return line.str();
}

News parse_news(const std::string& line) {
  std::istringstream words{line};
  std::string kind;
  News news;
  LocalTime::rep at = 0;
  if (!(words >> kind >> news.token >> at) || (kind != "leads" && kind != "follows")) {
    throw std::invalid_argument{"invalid line from a candidate: " + line};
  }
  news.kind = kind == "leads" ? News::Kind::leads : News::Kind::follows;
  news.at = LocalTime{LocalTime::duration{at}};
  return news;
}

LocalTime local_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return LocalTime{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

config::Configuration to_configuration(const StoreSetting& setting) {
  auto configuration = config::Configuration::from_url("sqlite:simba.db");
  configuration.set("path", setting.path, "the folder of the demonstration");
  configuration.set("ttl", setting.ttl, "--ttl");
  configuration.set("transition", setting.transition, "--transition");
  return configuration;
}

int be_candidate(const std::string& name, const StoreSetting& setting, int verbosity) {
  Signals signals;
  const auto runtime = make_command_runtime(verbosity);
  const auto factory = to_configuration(setting).make_factory(runtime);
  DemoContender contender{mutex_name, name, runtime->log};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  pollfd file{signals.file(), POLLIN, 0};
  for (;;) {
    ::poll(&file, 1, -1);
    while (const int signal = signals.next()) {
      if (signal != SIGTERM) continue;
      service->stop();
      return to_int(ExitCode::success);
    }
  }
}

CandidateProcess::CandidateProcess(const std::string& name, const StoreSetting& setting,
                                   const sigset_t& mask) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {  // NOLINT(hicpp-signed-bitwise)
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  std::vector<std::string> arguments{"simba",      "demo",      "candidate",       name,
                                     setting.path, setting.ttl, setting.transition};
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (auto& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  const int error = errno;
  if (pid_ == 0) become(words.data(), ends[1], parent, mask);
  ::close(ends[1]);
  channel_ = ends[0];
  if (pid_ < 0) {
    ::close(channel_);
    throw std::system_error{error, std::generic_category(), "fork"};
  }
}

CandidateProcess::~CandidateProcess() {
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(channel_);
}

std::vector<News> CandidateProcess::read() {
  std::vector<News> news;
  std::array<char, 512> piece{};
  for (;;) {
    const auto count = ::read(channel_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) ended_ = true;
    if (count <= 0) break;
    pending_.append(piece.data(), static_cast<std::size_t>(count));
  }
  for (std::size_t end = 0; (end = pending_.find('\n')) != std::string::npos;) {
    news.push_back(parse_news(pending_.substr(0, end)));
    pending_.erase(0, end + 1);
  }
  return news;
}

}  // namespace simba::cli::demo
