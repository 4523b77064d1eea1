// simba is-leader.
#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "support/free_ports.hpp"

namespace simba {
namespace {

using support::CliProgram;

struct CliIsLeader : support::CliTest {};

TEST_F(CliIsLeader, AnswersByItsExitCode) {
  CliProgram init{line("init", {})};
  EXPECT_EQ(init.wait(), 0) << init.err();
  CliProgram nobody{line("is-leader", {})};
  EXPECT_EQ(nobody.wait(), 1) << nobody.err();
  {
    CliProgram leader{line("elect", {})};
    ASSERT_TRUE(leader.says("leading"));
    CliProgram here{line("is-leader", {})};
    EXPECT_EQ(here.wait(), 0) << here.err();
    EXPECT_EQ(here.out() + here.err(), "");
    CliProgram other{line("is-leader", {"--id", "other"})};
    EXPECT_EQ(other.wait(), 1);
    CliProgram exact{line("is-leader", {"--json", "--id", owner()})};
    EXPECT_EQ(exact.wait(), 0);
    EXPECT_EQ(nlohmann::json::parse(exact.out())["leads"], true);
  }
  CliProgram leader{line("elect", {"--id", "1:2@192.0.2.1"})};
  ASSERT_TRUE(leader.says("leading"));
  CliProgram elsewhere{line("is-leader", {})};
  EXPECT_EQ(elsewhere.wait(), 1);
}

TEST_F(CliIsLeader, IsNoLeaderWhereTheStoreDoesNotAnswer) {
  support::FreePorts ports{1};
  const std::string url = "redis://127.0.0.1:" + std::to_string(ports[0]);
  ports.release();
  CliProgram program{{"is-leader", "-b", url, "-m", "m"}};
  EXPECT_EQ(program.wait(), 69);
}

}  // namespace
}  // namespace simba
