#include "file_store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace file_store {
namespace {

using namespace simba;          // NOLINT(google-build-using-namespace)
using namespace simba::engine;  // NOLINT(google-build-using-namespace)
using namespace std::chrono;    // NOLINT(google-build-using-namespace)

/// What a file holds, byte by byte. A new file reads as zeros: free, token 0.
struct Entry {
  FencingToken token = 0;  // of the last grant, even if the mutex is free
  milliseconds acquired_at{0}, ttl_at{0}, transition_at{0};  // all since the boot
  std::array<char, 40> boot{};    // its id: a lease of an earlier boot is over
  std::array<char, 520> owner{};  // 128 characters of up to 4 bytes, and a zero
};

struct Poll final : Watch {
  struct Alarm {
    std::mutex mutex;  // the first alarm may come before watch() has returned
    std::unique_ptr<Timer> timer;
  };
  const std::shared_ptr<Alarm> alarm = std::make_shared<Alarm>();
};

class FileStore final : public LeaseStore {
 public:
  FileStore(std::filesystem::path folder, std::shared_ptr<const Runtime> runtime)
      : folder_{std::move(folder)}, runtime_{std::move(runtime)} {
    std::filesystem::create_directories(folder_);
    std::ifstream{"/proc/sys/kernel/random/boot_id"}.read(boot_.data(), 36);
  }

  NameLimits name_limits() const noexcept override { return {.mutex = 63}; }  // of 4 bytes

  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    handler(under_lock(request, [&](Entry& entry, bool ours, milliseconds now) {
      if (!ours && entry.owner[0] != '\0') return false;
      entry = {.token = entry.token + 1, .acquired_at = now, .boot = boot_};
      request.contender_id.copy(entry.owner.data(), entry.owner.size() - 1);
      return true;
    }));
  }

  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    handler(under_lock(request, [](Entry&, bool ours, milliseconds) { return ours; }));
  }

  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    handler(under_lock(request, [&](Entry& entry, bool ours, milliseconds) {
      if (!ours || entry.token != token) return false;
      entry.owner = {};
      return true;
    }));
  }

  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    handler(under_lock(request, [](Entry&, bool, milliseconds) { return false; }));
  }

  /// Says every 20 ms that something may have changed. Whoever hears it asks.
  std::unique_ptr<Watch> watch(const LeaseRequest& /*request*/, NoticeHandler handler) override {
    auto poll = std::make_unique<Poll>();
    const std::lock_guard lock{poll->alarm->mutex};
    poll->alarm->timer = runtime_->timers->create(
        [weak = std::weak_ptr{poll->alarm}, clock = runtime_->clock, handler = std::move(handler)] {
          const auto alarm = weak.lock();
          if (!alarm) return;
          handler(Notice{});
          const std::lock_guard again{alarm->mutex};
          alarm->timer->arm(clock->now() + milliseconds{20});
        });
    poll->alarm->timer->arm(runtime_->clock->now());
    return poll;
  }

 private:
  /// The one atomic operation. Where `change` returns true, the lease starts again or has ended.
  template <class Change>
  LeaseAnswer under_lock(const LeaseRequest& request, const Change& change) const {
    const auto failed = [] {
      return Error{ErrorKind::unavailable, "file store: " + std::generic_category().message(errno)};
    };
    std::string name = request.mutex + "~";  // since "." and ".." are no names of files
    std::replace(name.begin(), name.end(), '/', '\xFF');  // no mutex has it: they are UTF-8
    const int file = open((folder_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::shared_ptr<void> closing{nullptr, [&](void*) { close(file); }};  // unlocks, too
    const bool locked = file >= 0 && flock(file, LOCK_EX) == 0;
    Entry entry;
    if (!locked || pread(file, &entry, sizeof entry, 0) < 0) return failed();
    const auto now = floor<milliseconds>(runtime_->clock->now().time_since_epoch());
    if (entry.transition_at < now || entry.boot != boot_) entry.owner = {};
    if (change(entry, entry.owner.data() == request.contender_id, now)) {
      entry.ttl_at = now + request.ttl;
      entry.transition_at = entry.ttl_at + request.transition;
      if (pwrite(file, &entry, sizeof entry, 0) != sizeof entry) return failed();
    }
    if (entry.owner[0] == '\0') return LeaseRecord{.fencing_token = entry.token};
    const StoreTime boot{floor<milliseconds>(system_clock::now().time_since_epoch()) - now};
    return LeaseRecord{
        .owner_id = entry.owner.data(),
        .lease = {boot + entry.acquired_at, boot + entry.ttl_at, boot + entry.transition_at},
        .ttl_left = std::max(milliseconds{0}, entry.ttl_at - now),
        .transition_left = entry.transition_at - now,
        .fencing_token = entry.token};
  }

  const std::filesystem::path folder_;
  const std::shared_ptr<const Runtime> runtime_;
  std::array<char, 40> boot_{};
};

}  // namespace

std::shared_ptr<LeaseStore> make_file_store(const std::filesystem::path& folder,
                                            std::shared_ptr<const Runtime> runtime) {
  return std::make_shared<FileStore>(folder, std::move(runtime));
}

}  // namespace file_store
