#include "support/supervisor/supervisor.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "support/processes/process_state.hpp"
#include "support/supervisor/certificates.hpp"
#include "support/supervisor/data_folder.hpp"
#include "support/supervisor/process.hpp"
#include "support/temporary_root.hpp"

namespace simba::support {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr auto start_limit = 90s;
constexpr auto stop_limit = 20s;

fs::path make_folder() {
  auto name = (temporary_root() / "simba-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error{errno, std::generic_category(), name};
  }
  return name;
}

bool is_free(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
  const int result = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(socket);
  return result == 0;
}

/// Below the range from which the system takes ports for outgoing connections: one of those could
/// take the port while the server is down.
std::uint16_t choose_port() {
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> ports{20'000, 32'000};
  for (int tries = 0; tries < 1'000; ++tries) {
    if (const auto port = ports(random); is_free(port)) {
      return port;
    }
  }
  throw std::runtime_error{"there is no free port between 20000 and 32000"};
}

}  // namespace

Supervisor::Supervisor(std::string_view product, std::string_view tls,
                       std::vector<std::string> arguments, Caller& caller)
    : product_{make_product(product)}, caller_{caller} {
  // What descends from a killed server comes to us, so that we can wait for its end.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  static_cast<void>(product_->program());  // throws where it is missing
  home_.arguments = std::move(arguments);
  home_.folder = make_folder();
  try {
    set_up(tls);
    start_first();
  } catch (...) {
    kill_all();
    product_->clean_up(home_);
    fs::remove_all(home_.folder);
    throw;
  }
}

Supervisor::~Supervisor() {
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", home_.folder.string(), error.what());
    }
  };
  attempt([&] { end(product_->discard_signal()); });
  attempt([&] { kill_all(); });
  attempt([&] { product_->clean_up(home_); });
  attempt([&] { fs::remove_all(home_.folder); });
}

void Supervisor::set_up(std::string_view tls) {
  hand_over(home_.folder);
  home_.tls = tls != "off";
  if (home_.tls) {
    make_certificates(home_.certificates(),
                      tls == "other_host" ? "DNS:elsewhere.test" : "DNS:localhost,IP:127.0.0.1",
                      caller_);
  }
  provide_data(*product_, home_, caller_);
  product_->adapt(home_);
}

void Supervisor::start_first() {
  for (int tries = 1;; ++tries) {
    home_.port = choose_port();
    try {
      start();
      return;
    } catch (const std::runtime_error&) {
      // Someone else may have taken the port in the meantime.
      if (tries == 5 || tail(home_.log()).find("in use") == std::string::npos) {
        throw;
      }
    }
  }
}

Location Supervisor::location() const {
  Location location;
  location.port = home_.port;
  location.user = "simba";
  location.password = test_password;
  location.database = "simba";
  location.socket = product_->socket(home_);
  location.certificates = home_.tls ? home_.certificates().string() : "";
  return location;
}

void Supervisor::obey(std::string_view command) {
  if (command == "start") {
    start();
  } else if (command == "stop") {
    end(product_->stop_signal());
  } else if (command == "kill") {
    kill_all();
  } else if (command == "pause") {
    pause_all();
  } else if (command == "resume") {
    signal_all(SIGCONT);
  } else {
    throw std::invalid_argument{fmt::format("unknown command '{}'", command)};
  }
}

void Supervisor::start() {
  if (server_ != -1 && !has_ended()) {
    return;
  }
  server_ = spawn({product_->command(home_), home_.folder, home_.log(), product_->cover()});
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  while (!product_->answers(home_)) {
    if (has_ended() || std::chrono::steady_clock::now() > deadline) {
      kill_all();
      throw std::runtime_error{
          fmt::format("the server does not answer; its log ends with:\n{}", tail(home_.log()))};
    }
    caller_.wait(-1, 10ms);
  }
  if (has_ended()) {
    throw std::runtime_error{fmt::format("port {} is in use by another server", home_.port)};
  }
}

void Supervisor::end(int signal) {
  if (server_ == -1) {
    return;
  }
  signal_all(SIGCONT);
  if (signal != SIGKILL) {
    ::kill(server_, signal);
    // Not through the caller: this also runs when the caller is gone.
    const auto deadline = std::chrono::steady_clock::now() + stop_limit;
    while (!has_ended() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(5ms);
    }
  }
  kill_all();
}

void Supervisor::kill_all() {
  signal_all(SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  server_ = -1;
}

void Supervisor::signal_all(int signal) {
  // The server first, and stopped, so that it starts no further process meanwhile.
  if (server_ != -1 && signal != SIGCONT) {
    ::kill(server_, SIGSTOP);
  }
  std::vector<pid_t> done{::getpid()};
  for (bool more = true; more;) {
    more = false;
    for (const pid_t process : family(::getpid())) {
      if (std::find(done.begin(), done.end(), process) == done.end()) {
        ::kill(process, signal);
        done.push_back(process);
        more = true;
      }
    }
  }
}

// A signal is on its way when kill() returns; threads go on until they notice.
void Supervisor::pause_all() {
  signal_all(SIGSTOP);
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  for (const pid_t process : family(::getpid())) {
    while (process != ::getpid() && !is_stopped(process)) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error{fmt::format("process {} cannot be stopped", process)};
      }
      caller_.wait(-1, 1ms);
    }
  }
}

bool Supervisor::has_ended() {
  if (server_ == -1) {
    return true;
  }
  siginfo_t info{};
  // WNOWAIT: the process keeps its number until `kill_all` has found its children.
  return ::waitid(P_PID, static_cast<id_t>(server_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == server_;
}

}  // namespace simba::support
