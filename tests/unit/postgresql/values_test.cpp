#include "postgresql/values.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

TEST(PostgreSqlArrayLiteral, IsEmptyWithoutElements) { EXPECT_EQ(ArrayLiteral{}.take(), "{}"); }

TEST(PostgreSqlArrayLiteral, QuotesEveryElementAndEscapesWhatEndsAQuote) {
  ArrayLiteral array;
  array.add("a");
  array.add(R"(b"\c)");
  array.add("");
  array.add("NULL");
  array.add("{x,y}");
  array.add_null();
  EXPECT_EQ(std::move(array).take(), R"({"a","b\"\\c","","NULL","{x,y}",NULL})");
}

TEST(PostgreSqlArrayLiteral, RefusesANul) {
  ArrayLiteral array;
  EXPECT_THROW(array.add(std::string(1, '\0')), InvalidArgumentError);
}

}  // namespace
}  // namespace simba::postgresql
