#include "cli/demo/candidate_process.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace simba::cli::demo {
namespace {

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
