// simba watch: who owns what, as it changes.
#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/child/signals.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/mutex_entry.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "cli/store.hpp"
#include "simba/core/mutex_retriever.hpp"
#include "simba/core/mutex_service_factory.hpp"

namespace simba::cli {
namespace {

/// How often we look for new mutexes, and whether the store is still there.
constexpr std::chrono::milliseconds look_interval{2'000};

/// Prints the changes of one mutex.
///
/// Threads: every function may be called from any thread.
class Watcher final : public MutexRetriever {
 public:
  Watcher(std::string mutex, Output& output) : mutex_{std::move(mutex)}, output_{output} {}

  const std::string& mutex() const noexcept override { return mutex_; }

  /// As it is when we come.
  void first(const engine::MutexEntry& entry) {
    const std::lock_guard lock{guard_};
    owner_ = entry.owner_id;
    print("seen", owner_.empty() ? "is free" : "is owned by " + painted(owner_), {}, owner_,
          entry.fencing_token);
  }

  void notify_owner(const MutexState& state) override {
    change_to(state.after().owner_id(), state.after().fencing_token());
  }

  /// What a later listing says. A service that finds a mutex free has nothing to tell, so a release
  /// between our first look and its own is known by this alone. It counts only where the service
  /// says the same: else it is older than what the service is about to tell, or has told.
  void listed(const engine::MutexEntry& entry, const MutexRetrievalService& service) {
    if (service.after_owner().owner_id() != entry.owner_id) return;
    change_to(entry.owner_id, entry.fencing_token);
  }

 private:
  void change_to(const std::string& after, FencingToken token) {
    const std::lock_guard lock{guard_};
    if (after == owner_) return;
    const std::string before = std::exchange(owner_, after);
    print(after.empty() ? "released" : "acquired", painted(before) + " -> " + painted(after),
          before, after, token);
  }

  std::string painted(const std::string& owner) const {
    return palette_.paint(owner.empty() ? Colour::dim : Colour::green, owner_text(owner));
  }

  void print(std::string_view event, const std::string& what, const std::string& before,
             const std::string& after, FencingToken token) {
    const WallTime now = wall_now();
    const bool owned = !after.empty() && token != 0;
    Json object{{"event", event}, {"time", to_utc(now)}, {"mutex", mutex_}};
    if (event != "seen") object["before"] = owner_json(before);
    object["owner"] = owner_json(after);
    object["token"] = owned ? Json(token) : Json(nullptr);
    output_.result(
        fmt::format("{}  {}  {}{}", palette_.paint(Colour::dim, to_time(now)), printable(mutex_),
                    what, owned ? fmt::format("  token {}", token) : std::string{}),
        object);
  }

  // constant after construction
  const std::string mutex_;
  Output& output_;
  const Palette palette_{output_};

  std::mutex guard_;
  std::string owner_;  // guarded by guard_
};

/// All watchers of one command.
class Watch {
 public:
  Watch(const config::Configuration& configuration, const CommonOptions& options, Output& output)
      : only_{options.mutex},
        output_{output},
        runtime_{make_command_runtime(options.verbosity)},
        admin_{make_admin(options, configuration, runtime_)},
        factory_{configuration.make_factory(runtime_)} {}

  /// Asks the store and shows what is new, to be followed by `follow`. Throws Error.
  void look() {
    for (const auto& entry : only_ ? std::vector{admin_->find(*only_)} : admin_->list()) {
      auto& followed = followed_[entry.mutex];
      if (followed.service) followed.watcher->listed(entry, *followed.service);
      if (followed.watcher) continue;
      followed.watcher = std::make_unique<Watcher>(entry.mutex, output_);
      followed.watcher->first(entry);
    }
  }

  void follow() {
    for (auto& [mutex, followed] : followed_) {
      if (!followed.service && !followed.refused) follow(mutex, followed);
    }
  }

  /// The same, but an unreachable store does not end it: that is reported, once.
  void look_again() {
    try {
      look();
      follow();
      if (std::exchange(away_, false)) {
        output_.note("the store answers again", {{"event", "store_back"}});
      }
    } catch (const Error& error) {
      if (!error.is_transient()) throw;
      if (std::exchange(away_, true)) return;
      output_.note(fmt::format("cannot see changes at present: {}", error.what()),
                   {{"event", "store_away"}, {"message", error.what()}});
    }
  }

 private:
  struct Followed {
    std::unique_ptr<Watcher> watcher{};
    std::unique_ptr<MutexRetrievalService> service{};  // ends before its watcher
    bool refused = false;                              // its name is
  };

  /// A name that the store has but does not accept, as another program may have put there, is
  /// reported and left out. With -m it is the user's, and an error.
  void follow(const std::string& mutex, Followed& followed) {
    try {
      followed.service = factory_->create_mutex_retrieval_service(*followed.watcher);
      followed.service->start();
    } catch (const Error& error) {
      if (only_ || error.kind() != ErrorKind::invalid_argument) throw;
      followed.refused = true;
      output_.note(fmt::format("cannot watch mutex \"{}\": {}", printable(mutex), error.what()),
                   {{"event", "not_watched"}, {"mutex", mutex}, {"message", error.what()}});
    }
  }

  const std::optional<std::string> only_;
  Output& output_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::unique_ptr<engine::StoreAdmin> admin_;
  const std::unique_ptr<MutexServiceFactory> factory_;
  std::map<std::string, Followed> followed_;
  bool away_ = false;
};

/// False where nobody is left to read what we print.
bool has_reader(const pollfd& output) {
  return (output.revents & (POLLERR | POLLNVAL)) == 0;  // NOLINT(hicpp-signed-bitwise)
}

class WatchCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("watch", "Show changes of ownership as they happen");
    command->footer(
        R"(Watches one mutex with -m, otherwise all mutexes in the store, including those
created later. Runs until interrupted (exit code 0), even while the store is
unreachable.

Examples:
  simba watch -b redis://10.0.0.5
  simba watch -b redis://10.0.0.5 -m deploy --json)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    Signals signals;
    const auto configuration = invocation.options.load();
    Watch watch{configuration, invocation.options, output};
    watch.look();
    output.queue_results();  // from here on a signal counts for more than a slow reader
    watch.follow();
    std::array<pollfd, 2> files{{{signals.file(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
    for (;;) {
      const int ready = ::poll(files.data(), files.size(), static_cast<int>(look_interval.count()));
      while (const int signal = signals.next()) {
        if (signal == SIGTSTP) {
          ::raise(SIGSTOP);
        } else if (is_ending(signal)) {
          return to_int(ExitCode::success);
        }
      }
      if (ready > 0 && !has_reader(files[1])) return to_int(ExitCode::success);
      if (output.failed()) return to_int(ExitCode::success);  // main says why
      if (ready == 0) watch.look_again();
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_watch_command() { return std::make_unique<WatchCommand>(); }

}  // namespace simba::cli
