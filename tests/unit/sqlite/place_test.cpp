// What other users of the host can do to a database, played where the tests run as root.
#include "sqlite/place.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <linux/magic.h>
#include <map>
#include <sched.h>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "sqlite_fixture.hpp"
#include "support/patience.hpp"

namespace simba::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t nobody = 65534;

struct SqlitePlaceTest : SqliteTest {
  std::unique_ptr<SqliteDatabase> database_with(FileMode mode,
                                                FileSystem file_system = FileSystem::local) {
    return std::make_unique<SqliteDatabase>(
        Place{path, mode, file_system}, ChildProcesses::ignore, sql::Schema::create,
        make_null_logger(),
        HostClock{.boot_id = "boot", .since_boot = [this] { return since_boot; }});
  }

  /// "" where the mutex could be acquired.
  std::string error_with(FileMode mode, FileSystem file_system = FileSystem::local) {
    try {
      const auto database = database_with(mode, file_system);
      const auto session = connect(*database);
      change(*session, sql::Change::acquire, ask("m", "me"));
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// The same through the public interface.
  std::string error_of_factory(FileMode mode = FileMode::owner) {
    try {
      const auto factory =
          make_sqlite_factory({.path = path,
                               .mode = mode,
                               .sql = {.runtime = make_runtime({.log = make_null_logger()})}});
      SimbaLocker locker{"m", *factory};
      locker.acquire(support::scaled(10s));
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::filesystem::path beside(const std::string& suffix) const { return path.string() + suffix; }

  /// In a process of its own, which answers with 0 where it went well.
  static int in_child(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void set_folder_mode(unsigned mode) const { ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0); }
};

TEST_F(SqlitePlaceTest, NewFilesAreForTheUserAloneUnlessTheyAreShared) {
  for (const auto& [mode, bits] : {std::pair{FileMode::owner, 0600U}, {FileMode::group, 0660U}}) {
    path = folder.path() / fmt::format("{:o}.db", bits);
    for (const mode_t mask : {0U, 077U}) {
      const mode_t before = umask(mask);
      const auto database = database_with(mode);
      const auto session = connect(*database);
      umask(before);
      change(*session, sql::Change::acquire, ask("m", "me"));
      for (const auto* const suffix : {"", "-wal", "-shm", "-alive"}) {
        EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(beside(suffix)).permissions()),
                  bits)
            << suffix;
      }
    }
  }
}

TEST_F(SqlitePlaceTest, AnotherUserCanNeitherOpenNorLockTheFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  set_folder_mode(0755);
  const auto database = database_with(FileMode::owner);
  const auto session = connect(*database);
  change(*session, sql::Change::acquire, ask("m", "me"));
  EXPECT_EQ(in_child([&] {
              if (setgid(nobody) != 0 || setuid(nobody) != 0) return false;
              for (const auto* const suffix : {"", "-wal", "-shm", "-alive"}) {
                if (::open(beside(suffix).c_str(), O_RDONLY) >= 0 || errno != EACCES) return false;
              }
              return true;
            }),
            0);
}

TEST_F(SqlitePlaceTest, ALockOnTheWholeFileOfTheLivingCostsNoMoreThanTheDeadline) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  const int stranger = ::open(beside("-alive").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(stranger, 0);
  struct flock all {};
  all.l_type = F_RDLCK;
  all.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(stranger, F_OFD_SETLK, &all), 0);
  const auto database = database_with(FileMode::owner);
  const LocalTime begun = sql::real_now();
  try {
    database->connect(begun + 100ms, closing);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("has locked " + beside("-alive").string()));
  }
  EXPECT_LT(sql::real_now() - begun, 30s);
  ::close(stranger);
  EXPECT_EQ(error_with(FileMode::owner), "");
}

/// The attack: another process, which may read an older database (0644) or is one of the group that
/// shares it (0660), holds locks on the index of the write-ahead log. What it does it does as a
/// process: closing a file here would drop the locks that SQLite has.
class LockedIndex {
 public:
  enum class Damage { none, must_be_rebuilt };

  LockedIndex(const std::filesystem::path& database, short lock, Damage damage) {
    std::array<int, 2> locked{};
    if (::pipe2(locked.data(), O_CLOEXEC) != 0)
      throw std::system_error{errno, std::system_category()};
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const std::string index = database.string() + "-shm";
      const int file = ::open(index.c_str(), lock == F_RDLCK ? O_RDONLY : O_RDWR);
      // Every byte that SQLite locks there but the last, which says that somebody has it open.
      struct flock bytes {};
      bytes.l_type = lock;
      bytes.l_whence = SEEK_SET;
      bytes.l_start = 120;
      bytes.l_len = 8;
      bool done = file >= 0 && ::fcntl(file, F_SETLK, &bytes) == 0;
      if (damage == Damage::must_be_rebuilt) {
        // As a process leaves it that is killed at work.
        const int header = ::open(index.c_str(), O_RDWR);
        constexpr std::array<char, 136> nothing{};
        done = done && ::pwrite(header, nothing.data(), nothing.size(), 0) == ssize_t{136};
      }
      const char answer = done ? 'y' : 'n';
      done = ::write(locked[1], &answer, 1) == 1;
      for (;;) ::pause();
    }
    char answer = 'n';
    while (::read(locked[0], &answer, 1) < 0 && errno == EINTR) {
    }
    ::close(locked[0]);
    ::close(locked[1]);
    EXPECT_EQ(answer, 'y');
  }
  ~LockedIndex() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  LockedIndex(const LockedIndex&) = delete;
  LockedIndex& operator=(const LockedIndex&) = delete;

 private:
  pid_t process_ = -1;
};

struct SqliteIndexLockTest : SqlitePlaceTest {
  /// It fails, as one of a store that cannot be used now, about when it must.
  template <class Function>
  void expect_failure_by_deadline(const std::string& what, const Function& function) {
    const LocalTime begun = sql::real_now();
    try {
      function(begun + 200ms);
      ADD_FAILURE() << what << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unavailable) << what << ": " << error.what();
      EXPECT_THAT(error.what(), HasSubstr(path.string())) << what;
    }
    // SQLite by itself would try for ten seconds.
    EXPECT_LT(sql::real_now() - begun, 5s) << what;
  }

  const std::vector<sql::Ask> asks{ask("m", "me")};
};

TEST_F(SqliteIndexLockTest, CostsARequestNoMoreThanItsDeadline) {
  const auto database = database_with(FileMode::owner);
  auto session = connect(*database);
  change(*session, sql::Change::acquire, asks.front());
  for (const short lock : {short{F_RDLCK}, short{F_WRLCK}}) {
    const LockedIndex locked{path, lock, LockedIndex::Damage::none};
    expect_failure_by_deadline("a renewal", [&](LocalTime deadline) {
      session->change(sql::Change::guard, asks, deadline);
    });
    if (!session->usable()) break;
  }
  session = connect(*database);
  EXPECT_EQ(change(*session, sql::Change::guard, asks.front()).owner_id, "me");
}

TEST_F(SqliteIndexLockTest, CostsNoMoreThanTheDeadlineWhileTheIndexHasToBeRebuilt) {
  const auto database = database_with(FileMode::owner);
  for (const short lock : {short{F_RDLCK}, short{F_WRLCK}}) {
    const auto session = connect(*database);
    change(*session, sql::Change::acquire, asks.front());
    {
      const LockedIndex locked{path, lock, LockedIndex::Damage::must_be_rebuilt};
      expect_failure_by_deadline("a look", [&](LocalTime deadline) {
        session->look(std::vector<std::string>{"m"}, deadline);
      });
      expect_failure_by_deadline("a connection",
                                 [&](LocalTime deadline) { database->connect(deadline, closing); });
    }
    EXPECT_EQ(error_with(FileMode::owner), "") << "once the lock is gone";
  }
}

TEST_F(SqliteIndexLockTest, DoesNotHoldUpTheEndOfAStore) {
  const auto database = database_with(FileMode::owner);
  sql::Wakeup now_closing;
  const auto session = database->connect(soon(), now_closing);
  const LockedIndex locked{path, F_RDLCK, LockedIndex::Damage::must_be_rebuilt};
  now_closing.raise();
  const LocalTime begun = sql::real_now();
  EXPECT_THROW(session->look(std::vector<std::string>{"m"}, begun + 60s), Error);
  EXPECT_LT(sql::real_now() - begun, 5s);
}

TEST_F(SqlitePlaceTest, ALinkInPlaceOfAFileIsRefusedAndItsTargetLeftAlone) {
  const auto target = folder.path() / "target";
  for (const auto* const suffix : {"", "-wal", "-shm", "-alive"}) {
    std::ofstream{target};
    path = folder.path() / fmt::format("linked{}.db", suffix);
    std::filesystem::create_symlink(target, beside(suffix));
    EXPECT_THAT(error_with(FileMode::owner),
                AllOf(HasSubstr(beside(suffix).string()), HasSubstr("is a symbolic link")));
    EXPECT_EQ(std::filesystem::file_size(target), 0U);
  }
}

TEST_F(SqlitePlaceTest, AFileWithTwoNamesIsRefusedUnderEither) {
  ASSERT_EQ(error_of_factory(), "");
  const auto second = folder.path() / "second.db";
  std::filesystem::create_hard_link(path, second);
  const auto first = path;
  for (const auto& name : {first, second}) {
    path = name;
    EXPECT_THAT(error_of_factory(), AllOf(HasSubstr(name.string()), HasSubstr("2 hard links"),
                                          HasSubstr("two owners"), HasSubstr("-samefile")));
  }
  EXPECT_FALSE(std::filesystem::exists(beside("-alive")));
  std::filesystem::remove(second);
  path = first;
  EXPECT_EQ(error_of_factory(), "");
}

std::filesystem::path file_to_link;  // NOLINT(*-avoid-non-const-global-variables)

/// SQLite calls it each time that it has opened a database.
int link_what_was_opened(sqlite3* /*database*/, const char** /*message*/,
                         const sqlite3_api_routines* /*api*/) {
  std::filesystem::create_hard_link(file_to_link, file_to_link.string() + "-second");
  return SQLITE_OK;
}

TEST_F(SqlitePlaceTest, AFileThatGetsASecondNameWhileItIsOpenedIsRefused) {
  file_to_link = path;
  ASSERT_EQ(::sqlite3_auto_extension(reinterpret_cast<void (*)()>(&link_what_was_opened)),
            SQLITE_OK);
  const std::string error = error_with(FileMode::owner);
  ::sqlite3_reset_auto_extension();
  EXPECT_THAT(error, HasSubstr("2 hard links"));
}

// The attack: somebody who may write the directory that is named puts a link there to a database of
// ours in a directory that is closed to them.
TEST_F(SqlitePlaceTest, ALinkInPlaceOfTheDatabaseIsRefusedByTheFactory) {
  const auto ours = folder.path() / "ours";
  const auto open = folder.path() / "open";
  std::filesystem::create_directory(ours);
  std::filesystem::create_directory(open);
  path = ours / "simba.db";
  ASSERT_EQ(error_of_factory(), "");
  const auto before = std::filesystem::last_write_time(path);
  std::filesystem::create_symlink(path, open / "simba.db");
  path = open / "simba.db";
  for (const FileMode mode : {FileMode::owner, FileMode::group}) {
    EXPECT_THAT(error_of_factory(mode),
                AllOf(HasSubstr(path.string()), HasSubstr("is a symbolic link")));
  }
  EXPECT_EQ(std::filesystem::last_write_time(ours / "simba.db"), before);
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  EXPECT_THAT(error_of_factory(), HasSubstr("any user can put files into directory"));
}

TEST_F(SqlitePlaceTest, ALinkIsNotFollowedEvenIfItComesAfterTheCheck) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  const auto link = folder.path() / "linked.db";
  std::filesystem::create_symlink(path, link);
  EXPECT_THROW((Connection{link, soon(), closing}), Error);
}

TEST_F(SqlitePlaceTest, ADirectoryIsFoundThroughALinkUnlessStrangersCanChangeTheLink) {
  const auto inner = folder.path() / "inner";
  const auto open = folder.path() / "open";
  std::filesystem::create_directory(inner);
  std::filesystem::create_directory(open);
  std::filesystem::create_directory_symlink(inner, open / "link");
  path = open / "link" / "simba.db";
  EXPECT_EQ(error_of_factory(), "");
  EXPECT_TRUE(std::filesystem::exists(inner / "simba.db-alive"));
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  EXPECT_THAT(error_of_factory(), AllOf(HasSubstr("any user can put files into directory"),
                                        HasSubstr("chmod o-w " + open.string())));
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  EXPECT_EQ(error_of_factory(), "") << "in a sticky one nobody can replace a link of ours";
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  ASSERT_EQ(::lchown((open / "link").c_str(), nobody, nobody), 0);
  EXPECT_THAT(error_of_factory(), AllOf(HasSubstr((open / "link").string()),
                                        HasSubstr("link that belongs to another user")));
}

TEST_F(SqlitePlaceTest, ADirectoryInTheMiddleOfAChainOfLinksIsLookedAtToo) {
  const auto inner = folder.path() / "inner";
  const auto open = folder.path() / "open";
  std::filesystem::create_directories(inner / "of");
  std::filesystem::create_directory(open);
  std::filesystem::create_directory_symlink("../inner", open / "second");
  std::filesystem::create_directory_symlink(open / "second", folder.path() / "first");
  path = folder.path() / "first" / "of" / "simba.db";
  EXPECT_EQ(error_of_factory(), "");
  EXPECT_TRUE(std::filesystem::exists(inner / "of" / "simba.db"));
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  EXPECT_THAT(error_of_factory(), AllOf(HasSubstr("any user can put files into directory"),
                                        HasSubstr("chmod o-w " + open.string())));
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  EXPECT_EQ(error_of_factory(), "") << "in a sticky one nobody can replace a link of ours";
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  ASSERT_EQ(::lchown((open / "second").c_str(), nobody, nobody), 0);
  EXPECT_THAT(error_of_factory(), AllOf(HasSubstr((open / "second").string()),
                                        HasSubstr("link that belongs to another user")));
}

TEST_F(SqlitePlaceTest, LinksThatLeadInACircleEndInAnError) {
  std::filesystem::create_directory_symlink("there", folder.path() / "here");
  std::filesystem::create_directory_symlink("here", folder.path() / "there");
  path = folder.path() / "here" / "simba.db";
  EXPECT_NE(error_of_factory(), "");
}

TEST_F(SqlitePlaceTest, TheFileOfTheLivingIsNeverReachedThroughALink) {
  const auto target = folder.path() / "target";
  std::ofstream{target};
  std::filesystem::create_symlink(target, beside("-alive"));
  EXPECT_THROW(Liveness(beside("-alive"), path, ChildProcesses::ignore, soon(), closing), Error);
  EXPECT_EQ(std::filesystem::file_size(target), 0U);
}

TEST_F(SqlitePlaceTest, AFolderThatAnyoneCanWriteIsRefused) {
  for (const unsigned mode : {0777U, 01777U}) {
    set_folder_mode(mode);
    for (const FileMode shared : {FileMode::owner, FileMode::group}) {
      EXPECT_THAT(error_with(shared), AllOf(HasSubstr("any user can put files into directory"),
                                            HasSubstr("chmod o-w " + folder.path().string())));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SqlitePlaceTest, AFolderThatItsGroupCanWriteMustBeAskedFor) {
  set_folder_mode(0770);
  EXPECT_THAT(error_with(FileMode::owner),
              AllOf(HasSubstr("chmod g-w"), HasSubstr("mode to 0660")));
  EXPECT_EQ(error_with(FileMode::group), "");
}

TEST_F(SqlitePlaceTest, AFolderAboveIsLookedAtToo) {
  const auto inner = folder.path() / "inner";
  std::filesystem::create_directory(inner);
  path = inner / "simba.db";
  set_folder_mode(0777);
  EXPECT_THAT(error_with(FileMode::owner), HasSubstr(folder.path().string() + " (mode 0777)"));
  set_folder_mode(01777);
  EXPECT_EQ(error_with(FileMode::owner), "") << "in a sticky one nobody can replace what is ours";
}

TEST_F(SqlitePlaceTest, WhatBelongsToAnotherUserIsRefusedUnlessItIsShared) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(error_with(FileMode::owner), "");
  ASSERT_EQ(::chown(path.c_str(), nobody, nobody), 0);
  EXPECT_THAT(error_with(FileMode::owner), HasSubstr("belongs to another user (uid 65534)"));
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), nobody, nobody), 0);
  EXPECT_THAT(error_with(FileMode::owner),
              AllOf(HasSubstr("directory"), HasSubstr("belongs to another user (uid 65534)")));
  EXPECT_EQ(error_with(FileMode::group), "");
}

TEST_F(SqlitePlaceTest, AFileThatOthersCanWriteIsRefused) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_THAT(error_with(FileMode::group), HasSubstr("any user can write file"));
  ASSERT_EQ(::chmod(path.c_str(), 0660), 0);
  EXPECT_THAT(error_with(FileMode::owner), HasSubstr("the group of file"));
}

// As with `docker run -v /volume/simba.db:/data/simba.db`: each container has a directory of its
// own around the one file.
TEST_F(SqlitePlaceTest, AFileThatIsMountedByItselfIsRefused) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  const auto volume = path;
  const auto container = folder.path() / "container";
  std::filesystem::create_directory(container);
  path = container / "simba.db";
  std::ofstream{path};
  constexpr int cannot_mount = 3;
  const int ended = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(volume.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      _exit(cannot_mount);
    }
    const std::string error = error_with(FileMode::owner);
    return error.find("mounted on its own") != std::string::npos &&
           error.find("mount its directory instead") != std::string::npos &&
           !std::filesystem::exists(beside("-wal")) && !std::filesystem::exists(beside("-alive"));
  });
  if (ended == cannot_mount) GTEST_SKIP() << "a file cannot be mounted here";
  EXPECT_EQ(ended, 0);
}

// As in a container without /proc: only that tells which mount a file is on.
TEST_F(SqlitePlaceTest, WithoutProcItIsRefusedSinceAFileMightBeMountedByItself) {
  constexpr int cannot_mount = 3;
  const int ended = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0) {
      _exit(cannot_mount);
    }
    const std::string error = error_with(FileMode::owner);
    return error.find("/proc/self/fdinfo") != std::string::npos &&
           error.find("mount /proc") != std::string::npos && !std::filesystem::exists(path);
  });
  if (ended == cannot_mount) GTEST_SKIP() << "/proc cannot be hidden here";
  EXPECT_EQ(ended, 0);
}

// POSIX drops all locks of a process on a file when it closes any descriptor of that file.
TEST_F(SqlitePlaceTest, LookingAtAFileDropsNoLockOnIt) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  const int locked = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(locked, 0);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(locked, F_SETLK, &whole), 0);
  Place{path}.check();
  EXPECT_EQ(in_child([&] {
              struct flock wanted = whole;
              const int again = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
              return ::fcntl(again, F_GETLK, &wanted) == 0 && wanted.l_type == F_WRLCK;
            }),
            0);
  ::close(locked);
}

TEST_F(SqlitePlaceTest, AFolderThatIsMountedIsFine) {
  const auto volume = folder.path() / "volume";
  const auto container = folder.path() / "container";
  std::filesystem::create_directory(volume);
  std::filesystem::create_directory(container);
  path = container / "simba.db";
  constexpr int cannot_mount = 3;
  const int ended = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(volume.c_str(), container.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      _exit(cannot_mount);
    }
    return error_with(FileMode::owner).empty();
  });
  if (ended == cannot_mount) GTEST_SKIP() << "a directory cannot be mounted here";
  EXPECT_EQ(ended, 0);
}

// FUSE stands for all of them: it can be mounted without a server, for another user, so that the
// kernel answers what kind it is and nothing else.
TEST_F(SqlitePlaceTest, ANetworkFileSystemIsRefusedUnlessItIsAskedFor) {
  constexpr int cannot_mount = 3;
  const int ended = in_child([&] {
    const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0 || ::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "fuse", 0,
                fmt::format("fd={},rootmode=40000,user_id={},group_id={}", device, nobody, nobody)
                    .c_str()) != 0) {
      _exit(cannot_mount);
    }
    const std::string refused = error_with(FileMode::owner);
    const std::string asked_for = error_with(FileMode::owner, FileSystem::any);
    return refused.find("is on a FUSE file system") != std::string::npos &&
           refused.find("set file-system to any") != std::string::npos &&
           asked_for.find("FUSE") == std::string::npos;
  });
  if (ended == cannot_mount) GTEST_SKIP() << "FUSE cannot be mounted here";
  EXPECT_EQ(ended, 0);
}

TEST(SqliteSharedFileSystem, IsToldByItsNumber) {
  const std::map<std::uint32_t, std::string_view> shared{
      {NFS_SUPER_MAGIC, "NFS"},   {SMB_SUPER_MAGIC, "SMB"},   {CIFS_SUPER_MAGIC, "CIFS"},
      {SMB2_SUPER_MAGIC, "SMB"},  {FUSE_SUPER_MAGIC, "FUSE"}, {V9FS_MAGIC, "9P"},
      {CEPH_SUPER_MAGIC, "Ceph"}, {AFS_SUPER_MAGIC, "AFS"},   {AFS_FS_MAGIC, "AFS"},
      {CODA_SUPER_MAGIC, "Coda"}, {0x01161970, "GFS2"},       {OCFS2_SUPER_MAGIC, "OCFS2"},
      {0x0BD00BD0, "Lustre"},     {0x47504653, "GPFS"},       {0x19830326, "BeeGFS"},
      {0xAAD7AAEA, "PanFS"},      {0xBEEFDEAD, "StorNext"},   {0x786F4256, "vboxsf"},
      {0xBACBACBC, "vmhgfs"},     {0x7C7C6673, "prl_fs"},
  };
  for (const auto& [magic, name] : shared) EXPECT_EQ(shared_file_system(magic), name);
  constexpr std::uint32_t zfs = 0x2FC12FC1;
  const std::vector<std::uint32_t> local{EXT4_SUPER_MAGIC,
                                         XFS_SUPER_MAGIC,
                                         BTRFS_SUPER_MAGIC,
                                         F2FS_SUPER_MAGIC,
                                         TMPFS_MAGIC,
                                         OVERLAYFS_SUPER_MAGIC,
                                         zfs};
  for (const std::uint32_t magic : local) {
    EXPECT_EQ(shared_file_system(magic), "") << magic;
  }
}

TEST_F(SqlitePlaceTest, TriggersOfAHostileFileDoNotRun) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  Connection{path, soon(), closing}.execute(
      "CREATE TRIGGER stolen AFTER UPDATE ON simba_mutex BEGIN "
      "UPDATE simba_mutex SET owner_id = 'thief'; END");
  const auto database = database_with(FileMode::owner);
  const auto session = connect(*database);
  change(*session, sql::Change::acquire, ask("m", "me"));
  EXPECT_EQ(look(*session, "m").owner_id, "me");
}

TEST_F(SqlitePlaceTest, AClockOfAHostileFileIsRefused) {
  ASSERT_EQ(error_with(FileMode::owner), "");
  for (const auto* const offset : {"9223372036854775807", "-9223372036854775807 - 1", "'x'"}) {
    Connection{path, soon(), closing}.execute(
        fmt::format("UPDATE simba_clock SET epoch_offset = {}", offset).c_str());
    EXPECT_THAT(error_with(FileMode::owner), HasSubstr("invalid epoch_offset")) << offset;
  }
}

}  // namespace
}  // namespace simba::sqlite
