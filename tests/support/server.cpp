#include "support/server.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "support/servers.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace simba::support {

namespace {

/// Longer than the supervisor's own limits, which give better messages.
constexpr std::chrono::seconds answer_limit{150};

std::string_view name(Tls tls) {
  switch (tls) {
    case Tls::off:
      return "off";
    case Tls::on:
      return "on";
    case Tls::other_host:
      return "other_host";
  }
  return "?";
}

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error{error, std::generic_category(), what};
}

/// Starts the supervisor with one end of a socket as its standard input and returns the other end.
/// It detaches itself, so that whatever ends this process and its children leaves it alone.
int launch_supervisor(const ServerOptions& options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail(errno, "socketpair");
  }
  std::vector<std::string> words{SIMBA_TEST_SERVER, "serve", std::to_string(::getpid()),
                                 options.product, std::string{name(options.tls)}};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    fail(error, SIMBA_TEST_SERVER);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return ends[0];
}

/// A line without its end; empty where the other side is gone or says nothing.
std::string read_line(int channel) {
  const auto end = std::chrono::steady_clock::now() + answer_limit;
  std::string line;
  for (char c = 0;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wait{channel, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready == -1 && errno == EINTR) {
      continue;
    }
    if (ready != 1 || ::recv(channel, &c, 1, 0) != 1) {
      return {};
    }
    if (c == '\n') {
      return line;
    }
    line += c;
  }
}

/// "ok <text>" gives the text, anything else an exception.
std::string read_answer(int channel, std::string_view what) {
  const auto line = read_line(channel);
  if (line.starts_with("ok")) {
    return line.substr(std::min<std::size_t>(line.size(), 3));
  }
  throw std::runtime_error{fmt::format("test server: {}: {}", what,
                                       line.empty() ? "the supervisor does not answer" : line)};
}

}  // namespace

Server::Server(const ServerOptions& options)
    : maker_{::getpid()}, channel_{launch_supervisor(options)} {
  try {
    const auto answer = read_answer(channel_, "start " + options.product);
    const auto space = answer.rfind(' ');
    log_file_ = answer.substr(0, space);
    location_ = parse_location(std::string_view{answer}.substr(space + 1));
  } catch (...) {
    ::close(channel_);
    throw;
  }
}

Server::~Server() {
  if (::getpid() == maker_) {
    ::shutdown(channel_, SHUT_WR);
    static_cast<void>(read_line(channel_));  // the end of the stream: the server is gone
  }
  ::close(channel_);
}

std::string Server::command(std::string_view text) {
  const auto line = fmt::format("{}\n", text);
  if (::send(channel_, line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    throw std::runtime_error{fmt::format("test server: {}: the supervisor is gone", text)};
  }
  return read_answer(channel_, text);
}

std::string Server::log() {
  std::ifstream stream{log_file_};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

namespace {

std::string missing_program(std::string_view what, const char* program, std::string_view remedy) {
  if (::access(program, X_OK) == 0) {
    return {};
  }
  return fmt::format("no {} at {}: {}", what, program, remedy);
}

}  // namespace

std::string MySqlServer::missing() {
  return missing_program("MySQL", SIMBA_TEST_MYSQL "/mysqld",
                         "scripts/fetch-mysql.sh brings it (needs npm)");
}

std::string MySql97Server::missing() {
  return missing_program("MySQL", SIMBA_TEST_MYSQL97 "/usr/sbin/mysqld",
                         "scripts/fetch-server.sh sid/mysql brings it (needs mmdebstrap)");
}

std::string PrometheusServer::missing() {
  if (::access("/usr/bin/prometheus", X_OK) == 0) {
    return {};
  }
  return missing_program("Prometheus", SIMBA_TEST_PROMETHEUS,
                         "scripts/fetch-prometheus.sh brings it");
}

}  // namespace simba::support
