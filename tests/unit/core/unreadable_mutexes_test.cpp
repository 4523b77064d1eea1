#include "core/unreadable_mutexes.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "simba/testkit/capturing_logger.hpp"

namespace simba::detail {
namespace {

TEST(UnreadableMutexes, AreReportedOnceAndNotWithoutEnd) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  UnreadableMutexes unreadable{log};
  const Error error{ErrorKind::configuration, "the reason"};
  for (int listing = 0; listing < 3; ++listing) {
    for (int i = 0; i < 1'000; ++i) unreadable.leave_out("m" + std::to_string(i), error);
  }
  EXPECT_EQ(log->count("the reason"), 10U) << log->text();
  EXPECT_EQ(log->count("\"m3\""), 1U) << log->text();
  EXPECT_EQ(log->count("further mutexes"), 1U) << log->text();
  EXPECT_EQ(log->lines().size(), 11U) << log->text();
}

TEST(UnreadableMutexes, AreNotToBlameForWhatFailsForEveryMutex) {
  for (const ErrorKind kind :
       {ErrorKind::unavailable, ErrorKind::timeout, ErrorKind::in_doubt, ErrorKind::authentication,
        ErrorKind::permission, ErrorKind::unsupported}) {
    EXPECT_FALSE(UnreadableMutexes::concerns_one(Error{kind, ""})) << kind;
  }
  for (const ErrorKind kind :
       {ErrorKind::invalid_argument, ErrorKind::configuration, ErrorKind::internal}) {
    EXPECT_TRUE(UnreadableMutexes::concerns_one(Error{kind, ""})) << kind;
  }
}

}  // namespace
}  // namespace simba::detail
