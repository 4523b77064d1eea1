// What the admin of an SQLite store finds wrong.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/admin_checks.hpp"
#include "simba/sqlite/sqlite_admin.hpp"
#include "sqlite/connection.hpp"
#include "support/ordinary_rights.hpp"
#include "support/temporary_folder.hpp"

namespace simba::admin_test {
namespace {

using sqlite::make_sqlite_admin;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

struct SqliteAdmin : testing::Test {
  engine::StoreReport examine() {
    return make_sqlite_admin({.path = path}, quiet_runtime())->examine();
  }

  void run(const char* statements) {
    const sql::Wakeup wakeup;
    sqlite::Connection{path, sql::real_now() + 10s, wakeup}.execute(statements);
  }

  const support::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "simba.db";
};

TEST_F(SqliteAdmin, AFileThatIsStillToBeMadeIsNoProblem) {
  const auto report = examine();
  EXPECT_THAT(report.server, testing::StartsWith("SQLite 3."));
  EXPECT_FALSE(report.server_time);
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(notes(report), ElementsAre(HasSubstr("does not exist yet")));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SqliteAdmin, AFolderThatDoesNotExistIsAProblem) {
  path = folder.path() / "nowhere" / "simba.db";
  EXPECT_THAT(problems(examine()), ElementsAre(HasSubstr("nowhere does not exist")));
  const auto admin = make_sqlite_admin({.path = path}, quiet_runtime());
  for (const auto& error :
       {error_of([&] { admin->list(); }), error_of([&] { admin->find("m"); }),
        error_of([&] { admin->evict("m"); }), error_of([&] { admin->check_exists(); }),
        error_of([&] { admin->init(); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), HasSubstr("nowhere does not exist"));
  }
}

TEST_F(SqliteAdmin, TellsThatAFileIsStillToBeMade) {
  const auto admin = make_sqlite_admin({.path = path}, quiet_runtime());
  const auto error = error_of([&] { admin->check_exists(); });
  EXPECT_EQ(error.kind(), ErrorKind::configuration);
  EXPECT_THAT(error.what(), HasSubstr("file " + path.string() + " does not exist"));
  EXPECT_FALSE(std::filesystem::exists(path)) << "looking makes nothing";
  admin->init();
  EXPECT_NO_THROW(admin->check_exists());
}

TEST_F(SqliteAdmin, AFolderInPlaceOfAFileIsAProblem) {
  std::filesystem::create_directory(path);
  EXPECT_THAT(problems(examine()), ElementsAre(HasSubstr("is a directory")));
}

TEST_F(SqliteAdmin, AFolderThatMayNotBeWrittenIsAProblem) {
  std::filesystem::permissions(
      folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto report = support::with_ordinary_rights([&] { return examine(); });
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  EXPECT_THAT(problems(report), ElementsAre(HasSubstr("no permission to write to directory")));
}

TEST_F(SqliteAdmin, AFileThatIsNoDatabaseIsAProblem) {
  std::ofstream{path} << std::string(4'096, 'x');
  EXPECT_THAT(problems(examine()), ElementsAre(HasSubstr("not an SQLite database")));
  const auto admin = make_sqlite_admin({.path = path}, quiet_runtime());
  EXPECT_EQ(error_of([&] { admin->list(); }).kind(), ErrorKind::configuration);
}

TEST_F(SqliteAdmin, ATableOfSomeoneElseIsAProblem) {
  run("CREATE TABLE simba_mutex (mutex TEXT PRIMARY KEY, owner_id TEXT)");
  EXPECT_THAT(problems(examine()), Contains(HasSubstr("lacks column version")));
}

TEST_F(SqliteAdmin, AnIncompleteTableIsCompleted) {
  run("CREATE TABLE simba_mutex (mutex TEXT PRIMARY KEY, acquired_at INTEGER, ttl_at INTEGER, "
      "transition_at INTEGER, owner_id TEXT, version INTEGER)");
  EXPECT_THAT(notes(examine()), ElementsAre(HasSubstr("lacks table simba_clock")));
  const auto admin = make_sqlite_admin({.path = path}, quiet_runtime());
  EXPECT_EQ(admin->init(), "created table simba_mutex");
  EXPECT_EQ(admin->init(), "table simba_mutex already exists");
  EXPECT_THAT(examine().findings, IsEmpty());
}

TEST_F(SqliteAdmin, ATableOfRecordsThatIsMissingOrWrongIsNotedAndInitMakesOne) {
  const auto admin = make_sqlite_admin({.path = path}, quiet_runtime());
  admin->init();
  run("DROP TABLE simba_record");
  const auto report = examine();
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(notes(report), Contains(HasSubstr("simba_record")));
  EXPECT_EQ(admin->init(), "created table simba_record");
  EXPECT_EQ(admin->init(), "table simba_mutex already exists");
  EXPECT_THAT(notes(examine()), testing::Not(Contains(HasSubstr("simba_record"))));

  run("DROP TABLE simba_record");
  run("CREATE TABLE simba_record (mutex int PRIMARY KEY)");
  EXPECT_THAT(notes(examine()), Contains(HasSubstr("simba_record")));
  EXPECT_THAT(problems(examine()), IsEmpty());
}

TEST_F(SqliteAdmin, AnOwnerWhoseProcessIsGoneIsShownAsNone) {
  const sqlite::SqliteOptions options{.path = path};
  {
    const auto store = sqlite::make_sqlite_store(options, quiet_runtime());
    const auto attached = store->attach();
    std::promise<void> answered;
    store->acquire({.mutex = "left", .contender_id = "gone", .ttl = 60s, .transition = 60s},
                   [&](const engine::LeaseAnswer&) { answered.set_value(); });
    answered.get_future().wait();
  }
  const auto admin = make_sqlite_admin(options, quiet_runtime());
  EXPECT_EQ(admin->find("left").owner_id, "");
  EXPECT_EQ(admin->evict("left").owner_id, "");
  const auto all = admin->list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().owner_id, "");
}

TEST_F(SqliteAdmin, ARowThatMakesNoSenseHidesNoOtherMutexes) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto admin = make_sqlite_admin({.path = path}, runtime_with(log));
  admin->init();
  run("INSERT INTO simba_mutex (mutex) VALUES ('good'), ('other');"
      "INSERT INTO simba_mutex (mutex, ttl_at) VALUES ('bad', 'soon')");
  expect_unreadable_is_left_out(*admin, *log, "good", "bad");
}

TEST_F(SqliteAdmin, NeedsAFile) {
  EXPECT_THROW(make_sqlite_admin({}, quiet_runtime()), InvalidArgumentError);
  EXPECT_THROW(make_sqlite_admin({.path = "/tmp/"}, quiet_runtime()), InvalidArgumentError);
  EXPECT_THROW(make_sqlite_admin({.path = ":memory:"}, quiet_runtime()), InvalidArgumentError);
}

}  // namespace
}  // namespace simba::admin_test
