// What a power cut leaves: what SQLite has synced, and any part of what it has written since.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <sqlite3.h>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sqlite_fixture.hpp"
#include "support/safety.hpp"

namespace simba::sqlite {
namespace {

/// Sees what SQLite writes by the file system of our connections, which must exist, and when it
/// syncs that. For one thread.
class DiskWithCache {
 public:
  /// What of the writes that were not synced has reached the disk nevertheless.
  enum class Reached { nothing, all, some };

  DiskWithCache() {
    current = this;
    files_->xOpen = [](sqlite3_vfs* files, const char* name, sqlite3_file* file, int flags,
                       int* out_flags) {
      return current->open(files, name, file, flags, out_flags);
    };
    files_->xDelete = [](sqlite3_vfs* files, const char* name, int sync_folder) {
      current->contents_.erase(name);
      return current->usual_.xDelete(files, name, sync_folder);
    };
  }
  /// All that was opened meanwhile must be closed.
  ~DiskWithCache() {
    *files_ = usual_;
    current = nullptr;
  }
  DiskWithCache(const DiskWithCache&) = delete;
  DiskWithCache& operator=(const DiskWithCache&) = delete;

  int syncs() const noexcept { return syncs_; }

  /// Puts what a power cut would leave into a folder.
  void cut(const std::filesystem::path& folder, Reached reached, std::mt19937& random) const {
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    for (const auto& [name, content] : contents_) {
      std::string left = content.synced;
      for (const Write& write : content.unsynced) {
        if (reached == Reached::all || (reached == Reached::some && random() % 2 == 0)) {
          apply(write, left);
        }
      }
      const auto path = folder / std::filesystem::path{name}.filename();
      std::ofstream{path, std::ios::binary} << left;
      std::filesystem::permissions(
          path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
  }

 private:
  struct Write {
    std::size_t at = 0;
    std::string data{};
    bool truncates = false;
  };

  struct Content {
    std::string synced{};
    std::vector<Write> unsynced{};
  };

  struct Opened {
    const sqlite3_io_methods* usual = nullptr;
    sqlite3_io_methods ours{};
    std::string name{};
  };

  static void apply(const Write& write, std::string& content) {
    if (write.truncates) {
      content.resize(write.at);
      return;
    }
    if (content.size() < write.at + write.data.size()) {
      content.resize(write.at + write.data.size());
    }
    content.replace(write.at, write.data.size(), write.data);
  }

  int open(sqlite3_vfs* files, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    std::string before;
    if (name != nullptr) {
      std::ifstream stream{name, std::ios::binary};
      before.assign(std::istreambuf_iterator<char>{stream}, {});
    }
    const int code = usual_.xOpen(files, name, file, flags, out_flags);
    if (code != SQLITE_OK || name == nullptr) return code;
    contents_.try_emplace(name, Content{.synced = std::move(before)});
    Opened& opened = opened_[file];
    opened = {.usual = file->pMethods, .ours = *file->pMethods, .name = name};
    opened.ours.xWrite = [](sqlite3_file* to, const void* data, int size, sqlite3_int64 at) {
      current->unsynced(to).push_back(
          {.at = static_cast<std::size_t>(at),
           .data = {static_cast<const char*>(data), static_cast<std::size_t>(size)}});
      return current->opened_[to].usual->xWrite(to, data, size, at);
    };
    opened.ours.xTruncate = [](sqlite3_file* of, sqlite3_int64 size) {
      current->unsynced(of).push_back({.at = static_cast<std::size_t>(size), .truncates = true});
      return current->opened_[of].usual->xTruncate(of, size);
    };
    opened.ours.xSync = [](sqlite3_file* of, int how) {
      current->sync(of);
      return current->opened_[of].usual->xSync(of, how);
    };
    opened.ours.xClose = [](sqlite3_file* closed) {
      closed->pMethods = current->opened_[closed].usual;
      current->opened_.erase(closed);
      return closed->pMethods->xClose(closed);
    };
    file->pMethods = &opened.ours;
    return code;
  }

  std::vector<Write>& unsynced(sqlite3_file* file) {
    return contents_[opened_[file].name].unsynced;
  }

  void sync(sqlite3_file* file) {
    Content& content = contents_[opened_[file].name];
    for (const Write& write : content.unsynced) apply(write, content.synced);
    content.unsynced.clear();
    ++syncs_;
  }

  static DiskWithCache* current;

  sqlite3_vfs* const files_ = sqlite3_vfs_find("simba");
  const sqlite3_vfs usual_ = *files_;
  std::map<std::string, Content> contents_;
  std::map<sqlite3_file*, Opened> opened_;
  int syncs_ = 0;
};

DiskWithCache* DiskWithCache::current = nullptr;

struct SqliteDurability : SqliteTest {
  SqliteDurability() {
    connect(*make_database());  // which makes the file system
  }

  /// A host that boots after a power cut, in a folder of its own each time.
  struct Rebooted {
    std::shared_ptr<SqliteDatabase> database;
    std::unique_ptr<sql::Session> session;
  };
  Rebooted reboot(const DiskWithCache& disk, DiskWithCache::Reached reached) {
    const auto left = folder.path() / fmt::format("after-{}", ++cuts);
    disk.cut(left, reached, random);
    const auto before = std::exchange(path, left / path.filename());
    Rebooted host{.database = make_database(sql::Schema::create, fmt::format("boot-{}", cuts))};
    path = before;
    host.session = connect(*host.database);
    return host;
  }

  static constexpr auto all_ways = {DiskWithCache::Reached::nothing, DiskWithCache::Reached::all,
                                    DiskWithCache::Reached::some, DiskWithCache::Reached::some,
                                    DiskWithCache::Reached::some};

  std::mt19937 random{1};
  int cuts = 0;
};

TEST_F(SqliteDurability, NoTokenRepeatsAfterAPowerCut) {
  const DiskWithCache disk;
  const auto database = make_database();
  const auto session = connect(*database);
  for (int round = 0; round < 6; ++round) {
    const auto token = change(*session, sql::Change::acquire, ask("m", "me")).version;
    const auto cut = [&](const char* when) {
      for (const auto reached : all_ways) {
        const auto host = reboot(disk, reached);
        const sql::Row row = change(*host.session, sql::Change::acquire, ask("m", "next"));
        EXPECT_EQ(row.owner_id, "next") << when;
        EXPECT_GT(row.version, token) << support::safety_violation << "a token repeats " << when;
      }
    };
    cut("after an acquisition");
    change(*session, sql::Change::guard, ask("m", "me"));
    change(*session, sql::Change::acquire, ask("other", "me"));
    change(*session, sql::Change::guard, ask("other", "me"));
    cut("after renewals");
    change(*session, sql::Change::release, ask("m", "me"));
    cut("after a release");
  }
}

TEST_F(SqliteDurability, ARecordThatIsWrittenSurvivesAPowerCut) {
  const DiskWithCache disk;
  const auto database = make_database();
  const auto session = connect(*database);
  for (std::uint64_t version = 0; version < 3; ++version) {
    const std::string text = fmt::format("text {}", version);
    session->write_record({.mutex = "m", .text = text, .replaces = version}, soon());
    for (const auto reached : all_ways) {
      const auto host = reboot(disk, reached);
      const auto records = host.session->read_records(std::vector<std::string>{"m"}, soon());
      ASSERT_EQ(records.size(), 1U);
      EXPECT_EQ(records[0].record.text, text);
      EXPECT_EQ(records[0].record.version, version + 1);
    }
  }
}

TEST_F(SqliteDurability, OnlyAnAcquisitionWaitsForTheDisk) {
  const DiskWithCache disk;
  const auto database = make_database();
  const auto session = connect(*database);
  for (int round = 0; round < 3; ++round) {
    const int before = disk.syncs();
    change(*session, sql::Change::acquire, ask("m", "me"));
    const int acquired = disk.syncs();
    EXPECT_GT(acquired, before);
    change(*session, sql::Change::guard, ask("m", "me"));
    change(*session, sql::Change::release, ask("m", "me"));
    EXPECT_EQ(disk.syncs(), acquired);
  }
}

}  // namespace
}  // namespace simba::sqlite
