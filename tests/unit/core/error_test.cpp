#include "simba/core/error.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace simba {
namespace {

const std::vector<ErrorKind> all_kinds{
    ErrorKind::unavailable,    ErrorKind::timeout,     ErrorKind::in_doubt,
    ErrorKind::authentication, ErrorKind::permission,  ErrorKind::invalid_argument,
    ErrorKind::illegal_state,  ErrorKind::unsupported, ErrorKind::configuration,
    ErrorKind::duplicate_id,   ErrorKind::internal,
};

TEST(ErrorKind, HasANameOfItsOwnForEachKind) {
  std::set<std::string_view> names;
  for (const auto kind : all_kinds) names.insert(to_string(kind));
  EXPECT_EQ(names.size(), all_kinds.size());
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(to_string(ErrorKind::unavailable), "unavailable");
  EXPECT_EQ(to_string(ErrorKind::in_doubt), "in doubt");
}

TEST(ErrorKind, IsUnknownWhereItIsNoneOfThese) {
  EXPECT_EQ(to_string(static_cast<ErrorKind>(99)), "unknown");
}

TEST(Error, KeepsItsKindAndItsMessage) {
  const Error error{ErrorKind::permission, "not yours"};
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_STREQ(error.what(), "not yours");
}

TEST(Error, IsInDoubtWhereTheRequestMayHaveBeenCarriedOut) {
  for (const auto kind : all_kinds) {
    const bool expected = kind == ErrorKind::timeout || kind == ErrorKind::in_doubt;
    EXPECT_EQ(Error(kind, "").in_doubt(), expected) << to_string(kind);
  }
}

TEST(Error, IsTransientWhereTryingAgainMayHelp) {
  for (const auto kind : all_kinds) {
    const bool expected =
        kind == ErrorKind::unavailable || kind == ErrorKind::timeout || kind == ErrorKind::in_doubt;
    EXPECT_EQ(Error(kind, "").is_transient(), expected) << to_string(kind);
  }
}

TEST(Error, OfEachSpecialTypeHasItsKindAndIsCaughtAsError) {
  EXPECT_EQ(TimeoutError("t").kind(), ErrorKind::timeout);
  EXPECT_EQ(IllegalStateError("s").kind(), ErrorKind::illegal_state);
  EXPECT_EQ(InvalidArgumentError("a").kind(), ErrorKind::invalid_argument);
  EXPECT_THROW(throw TimeoutError("t"), Error);
}

}  // namespace
}  // namespace simba
