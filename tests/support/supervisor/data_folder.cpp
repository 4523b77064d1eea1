#include "support/supervisor/data_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "support/supervisor/process.hpp"

namespace simba::support {

namespace fs = std::filesystem;

namespace {

/// Held until the end of the scope.
class FileLock {
 public:
  FileLock(const fs::path& file, Caller& caller)
      : descriptor_{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {
    if (descriptor_ == -1) {
      throw std::system_error{errno, std::generic_category(), file.string()};
    }
    try {
      while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        caller.wait(-1, std::chrono::milliseconds{20});
      }
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }
  ~FileLock() { ::close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int descriptor_;
};

/// With owners and permissions: servers look at them.
void copy_folder(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
  fs::permissions(to, fs::perms::owner_all);
  hand_over(to);
}

/// One per product and version.
fs::path template_folder(const Product& product) {
  const auto program = product.outside(product.program());
  const auto changed = fs::last_write_time(program).time_since_epoch().count();
  return fs::path{SIMBA_TEST_TEMPLATES} /
         fmt::format("{}-{:x}-{:x}", program.filename().string(), fs::file_size(program), changed);
}

}  // namespace

void provide_data(const Product& product, const Home& home, Caller& caller) {
  const auto ready = template_folder(product);
  fs::create_directories(ready.parent_path());
  const FileLock lock{ready.string() + ".lock", caller};
  if (fs::exists(ready)) {
    copy_folder(ready, home.data());
    return;
  }
  // Made in the home, since the build folder may be closed to the servers' account.
  product.make_data(home, caller);
  const fs::path half_done = ready.string() + ".new";
  fs::remove_all(half_done);
  copy_folder(home.data(), half_done);
  fs::rename(half_done, ready);
}

}  // namespace simba::support
