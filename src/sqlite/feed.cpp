#include "sqlite/feed.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace simba::sqlite {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_gap{1};

/// The kernel tells of an event a moment before there is something to see: a process writes the log
/// before it syncs it and shows the commit, and is closed before its lock is dropped.
constexpr std::array<milliseconds, 4> looks{milliseconds{0}, milliseconds{2}, milliseconds{15},
                                            milliseconds{80}};

}  // namespace

FileFeed::FileFeed(std::filesystem::path log_file, std::filesystem::path alive_file,
                   std::shared_ptr<Logger> log)
    : log_file_{std::move(log_file)},
      alive_file_{std::move(alive_file)},
      log_{std::move(log)},
      inotify_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)} {  // NOLINT(hicpp-signed-bitwise)
  if (inotify_ < 0) {
    log_->log(
        LogLevel::warn,
        fmt::format(
            "SQLite store: cannot use inotify ({}), so changes are seen only at the next poll; "
            "fs.inotify.max_user_instances may be too low",
            std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
  }
}

FileFeed::~FileFeed() {
  if (inotify_ >= 0) ::close(inotify_);
}

/// Tells whether one was added. A file that is missing is tried again at the next wait.
bool FileFeed::add_watches() noexcept {
  const auto add = [this](int& watch, const std::filesystem::path& file, std::uint32_t events) {
    if (inotify_ < 0 || watch >= 0) return false;
    watch = ::inotify_add_watch(inotify_, file.c_str(), events);
    return watch >= 0;
  };
  const bool log_added = add(log_watch_, log_file_, IN_MODIFY);
  // What a program inherited is open for reading only.
  const bool alive_added = add(alive_watch_, alive_file_, IN_CLOSE_WRITE | IN_CLOSE_NOWRITE);
  return log_added || alive_added;
}

/// Tells whether there were any.
bool FileFeed::read_events() noexcept {
  bool any = false;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  for (;;) {
    const auto size = ::read(inotify_, buffer.data(), buffer.size());
    if (size <= 0) return any;
    any = true;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_IGNORED) != 0) {  // the file is gone
        if (event.wd == log_watch_) log_watch_ = -1;
        if (event.wd == alive_watch_) alive_watch_ = -1;
      }
    }
  }
}

sql::Hint FileFeed::wait(const std::vector<std::string>& /*waited_for*/, LocalTime until,
                         const sql::Wakeup& wakeup) noexcept {
  if (add_watches()) begin_to_look();  // something may have been written before
  for (;;) {
    const LocalTime wake_at = std::min(until, look_at_);
    const auto waited = inotify_ >= 0 ? sql::wait_for(inotify_, POLLIN, wake_at, wakeup)
                                      : sql::wait_for(wakeup, wake_at);
    if (waited == sql::Waited::woken) return {};
    if (waited == sql::Waited::ready && read_events()) begin_to_look();
    const LocalTime now = sql::real_now();
    if (now >= look_at_) {
      last_look_ = now;
      ++look_;
      look_at_ = look_ < looks.size() ? now + looks.at(look_) : never;
      return {.all = true};
    }
    if (waited == sql::Waited::timed_out && now >= until) return {};
  }
}

/// Now, but soon after the last look not at once: many events in a row are one.
void FileFeed::begin_to_look() noexcept {
  look_ = 0;
  const LocalTime now = sql::real_now();
  const bool just_looked = last_look_ != LocalTime::min() && now < last_look_ + shortest_gap;
  look_at_ = just_looked ? last_look_ + shortest_gap : now;
}

}  // namespace simba::sqlite
