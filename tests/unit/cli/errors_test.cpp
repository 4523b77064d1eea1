#include "cli/errors.hpp"

#include <string>

#include <gtest/gtest.h>

namespace simba::cli {
namespace {

TEST(CliErrors, AnErrorIsShownWithWhatToDoAboutIt) {
  const Error error{ErrorKind::authentication, "the server refuses user app"};
  EXPECT_EQ(explain(error), "the server refuses user app\n  check the store's user and password");
  EXPECT_EQ(to_failure(error).code(), ExitCode::refused);
}

TEST(CliErrors, NoPrivilegesAreRecommendedWhereTheErrorSaysWhatToDo) {
  const std::string text = "any user can put files into directory /srv; use another directory";
  EXPECT_EQ(explain(Error{ErrorKind::permission, text}), text);
  EXPECT_EQ(explain(Error{ErrorKind::permission, "not allowed to insert"}),
            "not allowed to insert\n  grant the user the privileges that \"simba doctor\" lists");
}

TEST(CliErrors, OfAReplyThatMakesNoSenseAskForTheKindOfServerUnlessTheySayWhatToDo) {
  EXPECT_EQ(explain(Error{ErrorKind::internal, "no number: [x]"}),
            "no number: [x]\n  unexpected reply: is this the right kind of server? If so, please "
            "report a bug with the output of -vv");
  const std::string text = "the record is damaged; delete it: its schedule then starts over";
  EXPECT_EQ(explain(Error{ErrorKind::internal, text}), text);
}

}  // namespace
}  // namespace simba::cli
