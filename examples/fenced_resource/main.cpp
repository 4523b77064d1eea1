// Why a lock alone does not protect a resource, and what does: the fencing token.
//
// Three worker processes write to a storage, one at a time, by a lock. One of them is frozen in the
// middle of a write, for longer than its lease. Another gets the lock and writes. Then the frozen
// one wakes up and continues its write as if nothing had happened: the storage refuses it.
//
//   simba-example-fenced-resource [URL of a store, any but memory:]

#include <csignal>
#include <exception>
#include <iostream>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "../store_url.hpp"
#include "channel.hpp"
#include "storage.hpp"
#include "worker.hpp"

namespace {

constexpr int records_of_each = 2;

struct Process {
  std::string name;
  pid_t id = -1;
  Channel channel;
};

/// The worker as a process of its own, which is killed if this one ends first.
Process start_worker(const std::string& name, const std::string& url) {
  auto [ours, theirs] = Channel::make_pair();
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();  // there are no threads here, so this is safe
  if (id == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    try {
      work(name, records_of_each, url, theirs);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::cerr << name << ": " << error.what() << std::endl;
      ::_exit(1);
    }
  }
  return {name, id, std::move(ours)};
}

/// The process that has the storage. It also freezes and wakes the worker of the story, so that
/// each thing happens when the one before it has happened.
class Stage {
 public:
  explicit Stage(const std::string& url) {
    for (const auto* name : {"Ann", "Ben", "Cleo"}) {
      workers_.push_back(start_worker(name, url));
    }
  }

  /// Serves until all workers have ended. True: the stale write came and was refused.
  bool run() {
    while (!workers_.empty()) {
      std::vector<pollfd> sockets;
      sockets.reserve(workers_.size());
      for (const auto& worker : workers_) sockets.push_back({worker.channel.socket(), POLLIN, 0});
      ::poll(sockets.data(), sockets.size(), -1);
      for (std::size_t i = workers_.size(); i-- > 0;) {
        if (sockets[i].revents == 0) continue;
        if (const auto message = workers_[i].channel.receive()) {
          serve(workers_[i], *message);
        } else {
          ::waitpid(workers_[i].id, nullptr, 0);
          workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
    }
    for (const auto& record : storage_.records()) {
      std::cout << "  stored: " << record.text << ", token " << record.token << "\n";
    }
    return refused_;
  }

 private:
  void serve(const Process& worker, const Message& message) {
    switch (message.kind) {
      case Message::Kind::acquired:
        std::cout << worker.name << " has the lock, with token " << message.token << ".\n";
        break;
      case Message::Kind::begin:
        // Not the first write of all, so that there is something to be spoiled.
        if (frozen_ == -1 && !storage_.records().empty()) freeze(worker);
        worker.channel.send({Message::Kind::go_on, message.token});
        break;
      default:
        write(worker, message);
    }
    std::cout << std::flush;
  }

  void write(const Process& worker, const Message& message) {
    const std::string text = message.text.data();
    if (storage_.write({message.token, text})) {
      std::cout << "The storage takes " << text << ", with token " << message.token << ".\n";
      worker.channel.send({Message::Kind::stored, message.token});
      if (asleep_ && worker.id != frozen_) wake();
      return;
    }
    std::cout << "The storage refuses " << text << ": its token " << message.token
              << " is older than " << storage_.greatest_token() << ". " << worker.name
              << " waits for the lock again.\n";
    worker.channel.send({Message::Kind::refused, message.token});
    refused_ = refused_ || worker.id == frozen_;
  }

  void freeze(const Process& worker) {
    frozen_ = worker.id;
    frozen_name_ = worker.name;
    asleep_ = true;
    ::kill(frozen_, SIGSTOP);
    ::waitpid(frozen_, nullptr, WUNTRACED);  // until it stands still
    std::cout << worker.name << " has looked at its lock, begins to write, and is frozen.\n";
  }

  void wake() {
    asleep_ = false;
    std::cout << frozen_name_ << " wakes up and continues its write.\n";
    ::kill(frozen_, SIGCONT);
  }

  Storage storage_;
  std::vector<Process> workers_;
  pid_t frozen_ = -1;  // -1: none yet
  std::string frozen_name_;
  bool asleep_ = false;
  bool refused_ = false;
};

}  // namespace

int main(int argc, char** argv) try {
  ::alarm(120);  // ends us, and the workers with us, should the store never answer
  // A short lease, so that the story is short.
  const std::string lease = "?ttl=1s&transition=500ms&jitter-low=0ms&jitter-high=100ms";
  Stage stage{argc > 1 ? argv[1] : store_url(argc, argv) + lease};
  if (stage.run()) {
    std::cout << "Nobody has written after a newer owner." << std::endl;
    return 0;
  }
  std::cout << "No stale write was refused: the story went wrong." << std::endl;
  return 1;
} catch (const std::exception& error) {
  std::cerr << "simba-example-fenced-resource: " << error.what() << std::endl;
  return 1;
}
