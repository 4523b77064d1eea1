#include <gtest/gtest.h>

#include <simba/core/error.hpp>
#include <simba/testkit/store_contract.hpp>

TEST(InstalledTestkit, refuses_a_store_that_is_incomplete) {
  EXPECT_THROW(simba::testkit::register_store_contract({}), simba::InvalidArgumentError);
}
