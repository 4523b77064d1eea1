#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "sqlite_fixture.hpp"

namespace simba::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

struct SqliteErrorsTest : SqliteTest {
  /// What goes wrong with connecting or the first acquisition.
  Error error(sql::Schema schema = sql::Schema::create) {
    const auto database = make_database(schema);
    try {
      const auto session = connect(*database);
      change(*session, sql::Change::acquire, ask("m", "me"));
    } catch (const Error& problem) {
      return problem;
    }
    ADD_FAILURE() << "no error";
    return Error{ErrorKind::internal, "no error"};
  }
};

TEST_F(SqliteErrorsTest, AMissingFolderIsNamed) {
  path = folder.path() / "not there" / "simba.db";
  const Error problem = error();
  EXPECT_EQ(problem.kind(), ErrorKind::configuration);
  EXPECT_THAT(problem.what(), AllOf(HasSubstr("not there"), HasSubstr("does not exist")));
}

TEST_F(SqliteErrorsTest, AFolderInPlaceOfTheFileIsNamed) {
  std::filesystem::create_directory(path);
  EXPECT_THAT(error().what(), HasSubstr("is a directory"));
}

TEST_F(SqliteErrorsTest, AFileThatIsNoDatabaseIsNamed) {
  std::ofstream{path} << std::string(4096, 'x');
  const Error problem = error();
  EXPECT_EQ(problem.kind(), ErrorKind::configuration);
  EXPECT_THAT(problem.what(), AllOf(HasSubstr(path.string()), HasSubstr("not an SQLite database")));
}

TEST_F(SqliteErrorsTest, ADamagedDatabaseIsReported) {
  connect(*make_database());
  std::filesystem::resize_file(path, 700);
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
}

TEST_F(SqliteErrorsTest, MissingTablesNameTheFileThatMakesThem) {
  const Error problem = error(sql::Schema::expect);
  EXPECT_EQ(problem.kind(), ErrorKind::configuration);
  EXPECT_THAT(problem.what(), HasSubstr("sqlite.sql"));
}

TEST_F(SqliteErrorsTest, ADatabaseThatAnotherProcessKeepsLockedIsReported) {
  const auto database = make_database();
  const auto session = connect(*database);
  Connection other{path, soon(), closing};
  const Transaction holds_it{other};
  const std::vector<sql::Ask> asks{ask("m", "me")};
  try {
    session->change(sql::Change::acquire, asks, sql::real_now() + 20ms);
    FAIL() << "no error";
  } catch (const Error& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::unavailable);
    EXPECT_THAT(problem.what(), HasSubstr("locked"));
  }
  EXPECT_TRUE(session->usable());
}

TEST_F(SqliteErrorsTest, ClosingEndsTheWaitForALock) {
  const auto database = make_database();
  sql::Wakeup now_closing;
  const auto session = database->connect(soon(), now_closing);
  Connection other{path, soon(), closing};
  const Transaction holds_it{other};
  now_closing.raise();
  const std::vector<sql::Ask> asks{ask("m", "me")};
  const LocalTime begun = sql::real_now();
  EXPECT_THROW(session->change(sql::Change::acquire, asks, begun + 60s), Error);
  EXPECT_LT(sql::real_now(), begun + 30s);
}

TEST_F(SqliteErrorsTest, AChildOfAProcessThatHadADatabaseOpenIsRefused) {
  const auto database = make_database();
  const auto session = connect(*database);
  const pid_t child = fork();
  if (child == 0) {
    try {
      Connection{path, soon(), closing};
    } catch (const IllegalStateError&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(SqliteErrorsTest, AChildOfAProcessThatHasClosedItsDatabasesMayOpenOne) {
  connect(*make_database());
  const pid_t child = fork();
  if (child == 0) {
    Connection{path, soon(), closing};
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(SqliteErrorsTest, ADatabaseThatWasMovedAwayIsNotWrittenAnyMore) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, sql::Change::acquire, ask("m", "me"));
  std::filesystem::rename(path, folder.path() / "elsewhere");
  try {
    change(*session, sql::Change::guard, ask("m", "me"));
    FAIL() << "no error";
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("moved or deleted"));
  }
  EXPECT_FALSE(session->usable());
}

TEST_F(SqliteErrorsTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(make_sqlite_factory({}), InvalidArgumentError);
  EXPECT_THROW(make_sqlite_factory({.path = "/tmp/"}), InvalidArgumentError);
  EXPECT_THROW(make_sqlite_factory({.path = path, .sql = {.pool_size = 0}}), InvalidArgumentError);
  EXPECT_THROW(make_sqlite_factory({.path = path, .sql = {.poll_interval = 1ms}}),
               InvalidArgumentError);
}

/// A full or read-only disk, where the tests may mount one.
struct SqliteOnADiskOfItsOwn : SqliteErrorsTest {
  void SetUp() override {
    if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0) {
      GTEST_SKIP() << "a file system cannot be mounted here";
    }
    mounted = true;
  }
  void TearDown() override {
    if (mounted) umount2(folder.path().c_str(), MNT_DETACH);
  }
  bool mounted = false;
};

TEST_F(SqliteOnADiskOfItsOwn, AFullDiskIsReportedAndPasses) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, sql::Change::acquire, ask("m", "me"));
  const auto filler = folder.path() / "filler";
  {
    std::ofstream file{filler};
    while (file << std::string(1024, 'x') << std::flush) {
    }
  }
  try {
    for (int i = 0; i < 1'000; ++i) {
      change(*session, sql::Change::acquire, ask("mutex " + std::to_string(i), "me"));
    }
    FAIL() << "no error";
  } catch (const Error& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::unavailable);
  }
  std::filesystem::remove(filler);
  EXPECT_EQ(change(*session, sql::Change::guard, ask("m", "me")).owner_id, "me");
}

TEST_F(SqliteOnADiskOfItsOwn, AReadOnlyDiskIsReported) {
  connect(*make_database());
  if (mount(nullptr, folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    GTEST_SKIP() << "cannot be made read-only here";
  }
  EXPECT_EQ(error().kind(), ErrorKind::permission);
}

TEST_F(SqliteTest, ARowThatAStrangerHasSpoiltIsRefusedAndNoOther) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, sql::Change::acquire, ask("m", "me"));
  for (const auto* const spoil :
       {"version = 'seven'", "version = -1", "version = 1, transition_at = 'never'",
        "transition_at = 9000000000000000, owner_id = CAST(owner_id AS BLOB)",
        "owner_id = 'me', liveness = CAST(liveness AS BLOB)"}) {
    const std::string update =
        std::string{"UPDATE simba_mutex SET "} + spoil + " WHERE mutex = 'm'";
    Connection{path, soon(), closing}.execute(update.c_str());
    try {
      look(*session, "m");
      FAIL() << spoil;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::configuration);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("invalid value in column "),
                                      HasSubstr("of the row of mutex \"m\"; delete the row")));
    }
    EXPECT_THROW(change(*session, sql::Change::acquire, ask("m", "other")), Error);
    EXPECT_TRUE(session->usable());
    EXPECT_EQ(change(*session, sql::Change::acquire, ask("n", "me")).owner_id, "me");
  }
}

TEST_F(SqliteTest, ARowThatIsSpoiltCannotSteerATerminalByItsName) {
  const auto database = make_database();
  const auto session = connect(*database);
  const std::string name = "m\x1b[2J";
  change(*session, sql::Change::acquire, ask("m", "me"));
  Connection{path, soon(), closing}.execute(
      "UPDATE simba_mutex SET mutex = 'm' || char(27) || '[2J', version = 'seven'");
  try {
    look(*session, name);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("of the row of mutex \"m\\x1b[2J\"; delete the row"));
  }
}

TEST_F(SqliteTest, ATokenThatCannotGrowIsNotGiven) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, sql::Change::acquire, ask("m", "me"));
  Connection{path, soon(), closing}.execute(
      "UPDATE simba_mutex SET version = 9223372036854775807, transition_at = 0");
  EXPECT_THROW(change(*session, sql::Change::acquire, ask("m", "me")), Error);
  EXPECT_EQ(look(*session, "m").version, 9'223'372'036'854'775'807U);
}

}  // namespace
}  // namespace simba::sqlite
