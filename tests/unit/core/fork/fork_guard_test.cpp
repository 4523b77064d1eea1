#include "simba/core/fork_guard.hpp"

#include <gtest/gtest.h>

#include "unit/core/forked.hpp"

namespace simba {
namespace {

TEST(ForkGuard, IsNotInAChildInTheProcessThatMadeIt) { EXPECT_FALSE(ForkGuard{}.in_child()); }

TEST(ForkGuard, IsInAChildAfterAForkAndInEveryFurtherOne) {
  const ForkGuard guard;
  EXPECT_TRUE(test::in_forked_child(
      [&] { return guard.in_child() && test::in_forked_child([&] { return guard.in_child(); }); }));
  EXPECT_FALSE(guard.in_child()) << "the parent has not moved";
}

TEST(ForkGuard, MadeInAChildBelongsThere) {
  EXPECT_TRUE(test::in_forked_child([] {
    const ForkGuard guard;
    return !guard.in_child() && test::in_forked_child([&] { return guard.in_child(); });
  }));
}

}  // namespace
}  // namespace simba
