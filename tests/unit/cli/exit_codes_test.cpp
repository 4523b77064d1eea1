#include "cli/exit_codes.hpp"

#include <gtest/gtest.h>

namespace simba::cli {
namespace {

TEST(CliExitCodes, EveryKindHasTheExitCodeThatIsDocumented) {
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::unavailable)), 69);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::timeout)), 69);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::in_doubt)), 69);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::authentication)), 77);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::permission)), 77);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::invalid_argument)), 64);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::configuration)), 78);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::unsupported)), 78);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::duplicate_id)), 78);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::illegal_state)), 70);
  EXPECT_EQ(to_int(exit_code_of(ErrorKind::internal)), 70);
}

}  // namespace
}  // namespace simba::cli
