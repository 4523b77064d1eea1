#include "cli/errors.hpp"

#include <gtest/gtest.h>

namespace simba::cli {
namespace {

TEST(CliErrors, AnErrorIsShownWithWhatToDoAboutIt) {
  const Error error{ErrorKind::authentication, "the server refuses user app"};
  EXPECT_EQ(explain(error), "the server refuses user app\n  check the store's user and password");
  EXPECT_EQ(to_failure(error).code(), ExitCode::refused);
}

}  // namespace
}  // namespace simba::cli
