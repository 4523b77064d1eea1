// Leader election among three processes that share an SQLite database: one hands over gracefully,
// one is killed. `make run` runs it; it needs no server.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/sqlite/sqlite_factory.hpp"

namespace {

using namespace std::chrono_literals;
using simba::FencingToken;
using simba::MutexState;

simba::sqlite::SqliteOptions options_for(const std::string& database) {
  simba::sqlite::SqliteOptions options;
  options.path = database;
  options.sql.contention.ttl = 10s;
  options.sql.contention.transition = 6s;
  return options;
}

// ---- a candidate: a process of its own, which tells on its standard output what it becomes ------

class Candidate : public simba::AbstractMutexContender {
 public:
  explicit Candidate(const std::string& name) : AbstractMutexContender{"demo-leader", name} {}

  void on_acquired(const MutexState& state) override {
    std::cout << "leads " << state.after().fencing_token() << std::endl;
  }
  void on_released(const MutexState& /*state*/) override { std::cout << "follows 0" << std::endl; }
};

int be_candidate(const std::string& name, const std::string& database) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigprocmask(SIG_BLOCK, &ending, nullptr);  // before there are threads; taken by sigwait alone

  Candidate candidate{name};
  const auto factory = simba::sqlite::make_sqlite_factory(options_for(database));
  const auto service = factory->create_mutex_contend_service(candidate);
  service->start();
  int signal = 0;
  sigwait(&ending, &signal);
  service->stop();
  return 0;
}

// ---- the stage: starts the candidates, and does things to them ------------------------------

struct Process {
  pid_t pid = -1;
  int output = -1;
};

struct News {
  std::string who;
  std::string what;  // "leads" or "follows"; empty: nothing came
  FencingToken token = 0;
};

class Stage {
 public:
  Stage(std::string program, std::string database)
      : program_{std::move(program)}, database_{std::move(database)} {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() {
    for (const auto& [name, process] : processes_) kill(process.pid, SIGTERM);
    for (const auto& [name, process] : processes_) waitpid(process.pid, nullptr, 0);
  }

  void start(const std::string& name) {
    int ends[2] = {};
    if (pipe(ends) != 0) std::abort();
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl(program_.c_str(), program_.c_str(), name.c_str(), database_.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    processes_[name] = {.pid = pid, .output = ends[0]};
  }

  void end(const std::string& name, int signal) {
    kill(processes_.at(name).pid, signal);
    ended_at_ = std::chrono::steady_clock::now();
  }

  /// Waits for the next leader and says who it is; empty when none comes within 20 s.
  std::string next_leader() {
    for (;;) {
      const News news = next();
      if (news.what.empty()) return "";
      if (news.what == "follows") {
        say("  " + news.who + " leads no longer");
        continue;
      }
      say("  " + news.who + " leads, fencing token " + std::to_string(news.token));
      if (news.token <= last_token_) say("  TOKENS DO NOT GROW");
      last_token_ = news.token;
      return news.who;
    }
  }

  std::string since_the_end() const {
    const std::chrono::duration<double, std::milli> span =
        std::chrono::steady_clock::now() - ended_at_;
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", span.count());
    return text;
  }

  void say(const std::string& line) const {
    const std::chrono::duration<double> at = std::chrono::steady_clock::now() - begin_;
    std::printf("%7.3f s  %s\n", at.count(), line.c_str());
    std::fflush(stdout);
  }

 private:
  News next() {
    std::vector<pollfd> ends;
    std::vector<std::string> names;
    for (const auto& [name, process] : processes_) {
      ends.push_back({process.output, POLLIN, 0});
      names.push_back(name);
    }
    if (poll(ends.data(), ends.size(), 20'000) <= 0) return {};
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents == 0) continue;
      std::string line;
      char c = 0;
      while (read(ends[i].fd, &c, 1) == 1 && c != '\n') line += c;
      if (line.empty()) {  // its process is gone
        waitpid(processes_[names[i]].pid, nullptr, 0);
        processes_.erase(names[i]);
        return next();
      }
      News news{.who = names[i], .what = {}};
      std::istringstream{line} >> news.what >> news.token;
      return news;
    }
    return {};
  }

  const std::string program_;
  const std::string database_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<std::string, Process> processes_;
  std::chrono::steady_clock::time_point ended_at_{};
  FencingToken last_token_ = 0;
};

int play(const std::string& database) {
  const simba::engine::ContentionPlan plan{options_for(database).sql.contention};
  std::printf("%s\n", simba::engine::describe(plan).c_str());

  Stage stage{std::filesystem::read_symlink("/proc/self/exe"), database};
  stage.say("three processes start, on " + database);
  for (const char* name : {"ann", "ben", "cleo"}) stage.start(name);

  const std::string first = stage.next_leader();
  if (first.empty()) return 1;
  stage.say(first + " is told to stop (SIGTERM)");
  stage.end(first, SIGTERM);
  const std::string second = stage.next_leader();
  if (second.empty()) return 1;
  stage.say("hand-over took " + stage.since_the_end());

  stage.say(second + " is killed (SIGKILL)");
  stage.end(second, SIGKILL);
  const std::string third = stage.next_leader();
  if (third.empty()) return 1;
  stage.say("take-over took " + stage.since_the_end() +
            "; on another host it would have waited for the lease");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return be_candidate(argv[1], argv[2]);
  std::string folder = (std::filesystem::temp_directory_path() / "simba-demo-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  const int status = play(folder + "/simba.db");
  std::filesystem::remove_all(folder);
  return status;
}
