#include "file_store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <optional>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace file_store {

using namespace simba;          // NOLINT(google-build-using-namespace)
using namespace simba::engine;  // NOLINT(google-build-using-namespace)
using std::chrono::floor;
using std::chrono::milliseconds;

namespace {

template <std::size_t Size>
void assign(std::array<char, Size>& to, const std::string& from) {
  to.fill('\0');
  std::copy_n(from.begin(), std::min(from.size(), Size - 1), to.begin());
}

int checked(int result, const std::filesystem::path& path) {
  if (result < 0) {
    throw std::system_error{errno, std::generic_category(), path.string()};
  }
  return result;
}

}  // namespace

/// What a file holds. It is read and written as a whole; a new file reads as zeros: free, token 0.
struct FileStore::Entry {
  bool is_over(std::int64_t now, const std::string& boot) const {
    return owner[0] == '\0' || transition_at < now || boot_of_lease.data() != boot;
  }
  bool is_of(const std::string& contender_id) const { return owner.data() == contender_id; }

  FencingToken token = 0;
  std::int64_t acquired_at = 0;  // all in milliseconds since the boot
  std::int64_t ttl_at = 0;
  std::int64_t transition_at = 0;
  std::array<char, 40> boot_of_lease{};
  std::array<char, 520> owner{};  // 128 characters of up to 4 bytes, and a zero
};

/// An open file and its lock.
class FileStore::File {
 public:
  explicit File(const std::filesystem::path& path)
      : path_{path}, file_{checked(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), path)} {
    if (flock(file_, LOCK_EX) != 0) {
      const int error = errno;
      close(file_);
      throw std::system_error{error, std::generic_category(), path.string()};
    }
  }
  ~File() { close(file_); }  // also unlocks

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Entry read() const {
    Entry entry;
    checked(static_cast<int>(pread(file_, &entry, sizeof entry, 0)), path_);
    return entry;
  }
  void write(const Entry& entry) const {
    checked(static_cast<int>(pwrite(file_, &entry, sizeof entry, 0)), path_);
  }

 private:
  const std::filesystem::path& path_;
  const int file_;
};

FileStore::FileStore(std::filesystem::path folder, std::shared_ptr<const Runtime> runtime,
                     milliseconds look_every)
    : folder_{std::move(folder)}, runtime_{std::move(runtime)}, look_every_{look_every}, boot_{[] {
        std::string id;
        std::ifstream{"/proc/sys/kernel/random/boot_id"} >> id;
        return id;
      }()} {
  std::filesystem::create_directories(folder_);
}

/// The name itself, but for what a file name can not hold.
std::filesystem::path FileStore::path_of(const std::string& mutex) const {
  std::string name;
  for (const char byte : mutex) {
    name += byte == '/' ? "%2F" : byte == '%' ? "%25" : byte == '.' ? "%2E" : std::string(1, byte);
  }
  return folder_ / name;
}

LeaseAnswer FileStore::under_lock(const std::string& mutex, const Change& change) const {
  try {
    const auto path = path_of(mutex);
    const File file{path};
    Entry entry = file.read();
    const std::int64_t now = floor<milliseconds>(runtime_->clock->now().time_since_epoch()).count();
    if (change(entry, now)) {
      file.write(entry);
    }
    LeaseRecord record;
    record.fencing_token = entry.token;
    if (!entry.is_over(now, boot_)) {
      const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
      const StoreTime boot{floor<milliseconds>(since_epoch) - milliseconds{now}};
      record.owner_id = entry.owner.data();
      record.lease = {.acquired_at = boot + milliseconds{entry.acquired_at},
                      .ttl_at = boot + milliseconds{entry.ttl_at},
                      .transition_at = boot + milliseconds{entry.transition_at}};
      record.ttl_left = milliseconds{std::max<std::int64_t>(0, entry.ttl_at - now)};
      record.transition_left = milliseconds{entry.transition_at - now};
    }
    return record;
  } catch (const std::exception& error) {
    return Error{ErrorKind::unavailable, std::string{"file store: "} + error.what()};
  }
}

void FileStore::acquire(const LeaseRequest& request, AnswerHandler handler) {
  handler(under_lock(request.mutex, [&](Entry& entry, std::int64_t now) {
    if (!entry.is_over(now, boot_) && !entry.is_of(request.contender_id)) {
      return false;
    }
    ++entry.token;
    entry.acquired_at = now;
    entry.ttl_at = now + request.ttl.count();
    entry.transition_at = entry.ttl_at + request.transition.count();
    assign(entry.boot_of_lease, boot_);
    assign(entry.owner, request.contender_id);
    return true;
  }));
}

void FileStore::guard(const LeaseRequest& request, AnswerHandler handler) {
  handler(under_lock(request.mutex, [&](Entry& entry, std::int64_t now) {
    if (entry.is_over(now, boot_) || !entry.is_of(request.contender_id)) {
      return false;
    }
    entry.ttl_at = now + request.ttl.count();
    entry.transition_at = entry.ttl_at + request.transition.count();
    return true;
  }));
}

void FileStore::release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) {
  handler(under_lock(request.mutex, [&](Entry& entry, std::int64_t /*now*/) {
    if (!entry.is_of(request.contender_id) || entry.token != token) {
      return false;
    }
    entry.owner.fill('\0');
    return true;
  }));
}

void FileStore::retrieve(const LeaseRequest& request, AnswerHandler handler) {
  handler(under_lock(request.mutex, [](Entry&, std::int64_t) { return false; }));
}

/// Looks at one file again and again, on the thread of the timers.
class FileStore::Look : public std::enable_shared_from_this<Look> {
 public:
  Look(std::filesystem::path path, std::shared_ptr<const Runtime> runtime, milliseconds every,
       NoticeHandler handler)
      : path_{std::move(path)},
        runtime_{std::move(runtime)},
        every_{every},
        handler_{std::move(handler)} {}

  void begin() {
    timer_ = runtime_->timers->create([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->look();
      }
    });
    arm(milliseconds{0});
  }

 private:
  // The first look always tells: something may have changed before it.
  void look() {
    try {
      const Entry entry = File{path_}.read();
      const auto found = std::pair{entry.token, entry.owner};
      if (found != seen_) {
        seen_ = found;
        handler_(Notice{});
      }
    } catch (const std::system_error&) {
      seen_.reset();
    }
    arm(every_);
  }

  void arm(milliseconds after) {
    const std::lock_guard lock{mutex_};  // the first look may come before begin() has returned
    timer_->arm(runtime_->clock->now() + after);
  }

  const std::filesystem::path path_;
  const std::shared_ptr<const Runtime> runtime_;
  const milliseconds every_;
  const NoticeHandler handler_;
  std::optional<std::pair<FencingToken, decltype(Entry::owner)>> seen_;
  std::unique_ptr<Timer> timer_;
  std::mutex mutex_;
};

std::unique_ptr<Watch> FileStore::watch(const LeaseRequest& request, NoticeHandler handler) {
  struct LookWatch final : Watch {
    explicit LookWatch(std::shared_ptr<Look> shared) : look{std::move(shared)} { look->begin(); }
    const std::shared_ptr<Look> look;
  };
  return std::make_unique<LookWatch>(
      std::make_shared<Look>(path_of(request.mutex), runtime_, look_every_, std::move(handler)));
}

}  // namespace file_store
