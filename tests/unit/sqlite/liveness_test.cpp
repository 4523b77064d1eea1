#include "sqlite/liveness.hpp"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sqlite {
namespace {

using namespace std::chrono_literals;
using State = Liveness::State;
using testing::HasSubstr;
using testing::IsEmpty;

struct LivenessTest : testing::Test {
  std::unique_ptr<Liveness> join(ChildProcesses child_processes = ChildProcesses::ignore) const {
    return std::make_unique<Liveness>(path, database, child_processes, sql::real_now() + 5s,
                                      closing);
  }

  /// The descriptors of the file that a program would inherit.
  std::vector<int> inherited() const {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      const int file = std::stoi(entry.path().filename());
      std::error_code closed;
      if (std::filesystem::read_symlink(entry.path(), closed) == path &&
          (fcntl(file, F_GETFD) & FD_CLOEXEC) == 0) {
        found.push_back(file);
      }
    }
    return found;
  }

  const support::TemporaryFolder folder;
  const std::filesystem::path database = folder.path() / "db";
  const std::filesystem::path path = folder.path() / "db-alive";
  const sql::Wakeup closing;
};

TEST_F(LivenessTest, OneThatIsThereIsAliveToTheOthersAndToItself) {
  const auto one = join();
  const auto other = join();
  EXPECT_NE(one->mark(), other->mark());
  EXPECT_EQ(other->state_of(one->mark()), State::alive);
  EXPECT_EQ(one->state_of(one->mark()), State::alive);
}

TEST_F(LivenessTest, OneThatHasLeftIsGone) {
  auto one = join();
  const auto other = join();
  const std::string mark = one->mark();
  one.reset();
  EXPECT_EQ(other->state_of(mark), State::gone);
}

TEST_F(LivenessTest, AForkedChildCountsAsItsParentUntilItIsGone) {
  const auto observer = join();
  auto one = join();
  const std::string mark = one->mark();
  int hold[2] = {};
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(hold[1]);
    char byte = 0;
    _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);  // ends when the parent closes its end
  }
  close(hold[0]);
  one.reset();
  EXPECT_EQ(observer->state_of(mark), State::alive);
  close(hold[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(observer->state_of(mark), State::gone);
}

TEST_F(LivenessTest, AProgramInheritsNothingUnlessChildProcessesKeepTheLock) {
  const auto one = join();
  EXPECT_THAT(inherited(), IsEmpty());
}

TEST_F(LivenessTest, WhatAProgramInheritsCannotReleaseTheLockOfItsParent) {
  const auto observer = join();
  const auto one = join(ChildProcesses::keep_lock);
  const auto files = inherited();
  ASSERT_EQ(files.size(), 1U);
  struct flock all {};
  all.l_whence = SEEK_SET;  // from the beginning to any end
  all.l_type = F_WRLCK;
  EXPECT_NE(fcntl(files.front(), F_OFD_SETLK, &all), 0) << "it may lock out others";
  EXPECT_LT(write(files.front(), "x", 1), 0) << "it may change the file";
  all.l_type = F_UNLCK;
  EXPECT_EQ(fcntl(files.front(), F_OFD_SETLK, &all), 0);
  EXPECT_EQ(observer->state_of(one->mark()), State::alive) << "unlocking released ours";
}

TEST_F(LivenessTest, AProgramThatInheritedTheLockKeepsItUntilItIsGone) {
  const auto observer = join();
  auto one = join(ChildProcesses::keep_lock);
  const std::string mark = one->mark();
  ASSERT_EQ(inherited().size(), 1U);
  const int kept = dup(inherited().front());  // what a child has
  one.reset();
  EXPECT_EQ(observer->state_of(mark), State::alive);
  close(kept);
  EXPECT_EQ(observer->state_of(mark), State::gone);
}

TEST_F(LivenessTest, NobodyIsGoneByAFileThatWasDeletedAndMadeAnew) {
  const auto one = join();
  std::filesystem::remove(path);
  const auto other = join();
  EXPECT_EQ(other->state_of(one->mark()), State::unknown);
  EXPECT_EQ(one->state_of(other->mark()), State::unknown);
}

TEST_F(LivenessTest, NobodyIsGoneByACopyOfTheFile) {
  const auto one = join();
  const auto copy = folder.path() / "copy";
  std::filesystem::copy_file(path, copy);
  std::filesystem::rename(copy, path);
  const auto other = join();
  EXPECT_EQ(other->state_of(one->mark()), State::unknown);
}

TEST_F(LivenessTest, ANewFileHasTheModeOfTheDatabaseWhateverTheUmask) {
  std::ofstream{database} << "";
  const auto mode = std::filesystem::perms{0660};
  std::filesystem::permissions(database, mode);
  const mode_t before = umask(077);
  join();
  umask(before);
  EXPECT_EQ(std::filesystem::status(path).permissions(), mode);
}

TEST_F(LivenessTest, AMarkThatMakesNoSenseIsUnknown) {
  const auto one = join();
  const std::string id = one->mark().substr(0, one->mark().find(':'));
  for (const std::string& mark :
       {std::string{}, std::string{":"}, id, id + ":", id + ":x", id + ":12x", id + ":-5",
        id + ":0", id + ":99999999999999999999", std::string{"other:5000"}}) {
    EXPECT_EQ(one->state_of(mark), State::unknown) << mark;
  }
}

TEST_F(LivenessTest, AFileOfAnotherContentIsRefused) {
  // With a colon in it nobody would be seen as alive.
  std::ofstream{path} << "0123456789abcdef:0123456789abcde";
  try {
    join();
    ADD_FAILURE() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
  }
}

TEST_F(LivenessTest, AFolderThatIsMissingIsNamed) {
  std::filesystem::remove(folder.path());
  try {
    join();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
  }
}

}  // namespace
}  // namespace simba::sqlite
