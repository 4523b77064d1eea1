#include "cli/child/child.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/types.h>

#include <gtest/gtest.h>

#include "support/patience.hpp"
#include "support/temporary_folder.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;
using support::eventually;

/// A program that ignores TERM, and has an hour from TERM to KILL.
class ChildTest : public testing::Test {
 protected:
  ~ChildTest() override {
    if (!ended_ && guardian() > 1) ::kill(guardian(), SIGKILL);  // and with it the program
  }

  bool runs() {
    return eventually([this] {
      look();
      return child_.group() > 0 && std::filesystem::exists(mark_);
    });
  }

  bool ends() {
    return eventually([this] {
      look();
      return ended_.has_value();
    });
  }

  void look() {
    const auto event = child_.next();
    if (event && event->kind == Child::Event::Kind::ended) ended_ = event;
  }

  pid_t guardian() const {
    std::ifstream status{"/proc/" + std::to_string(child_.group()) + "/status"};
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
    }
    return -1;
  }

  const support::TemporaryFolder folder_;
  const std::filesystem::path mark_ = folder_.path() / "runs";
  Child child_{
      {.words = {"sh", "-c",
                 "trap '' TERM; : >'" + mark_.string() + "'; while :; do sleep 0.01; done"},
       .input = Program::Input::none},
      never,
      1h};
  std::optional<Child::Event> ended_;
};

TEST_F(ChildTest, HasNoMoreTimeWhenItsGuardianNoticesTooLateThatTheLeaseIsOver) {
  ASSERT_TRUE(runs());
  child_.extend(support::now() - 2h);
  child_.signal(SIGCONT);  // its guardian wakes up, as after a pause
  ASSERT_TRUE(ends()) << "the hour from TERM to KILL was over an hour ago";
  EXPECT_TRUE(ended_->killed);
  EXPECT_FALSE(ended_->overdue);
}

TEST_F(ChildTest, HasNoMoreTimeWhenItsGuardianIsStoppedAndWeNoticeTooLateThatTheLeaseIsOver) {
  ASSERT_TRUE(runs());
  ASSERT_GT(guardian(), 1);
  ::kill(guardian(), SIGSTOP);
  child_.extend(support::now() - 2h);
  child_.end(1h);
  ASSERT_TRUE(ends()) << "its guardian should have ended it an hour ago";
  EXPECT_TRUE(ended_->overdue);
}

TEST_F(ChildTest, HasItsTimeFromTheOrderWhileTheLeaseGoesOn) {
  ASSERT_TRUE(runs());
  const LocalTime told = support::now();
  child_.end(200ms);
  ASSERT_TRUE(ends());
  EXPECT_TRUE(ended_->killed);
  EXPECT_GE(support::now() - told, 200ms);
}

}  // namespace
}  // namespace simba::cli
