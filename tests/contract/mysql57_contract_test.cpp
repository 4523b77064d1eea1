#include <gtest/gtest.h>

#include "contract/mysql_contract.hpp"
#include "support/servers.hpp"

namespace {

class NotHere : public testing::Test {
  void TestBody() override { GTEST_SKIP() << simba::support::MySqlServer::missing(); }
};

}  // namespace

int main(int argc, char** argv) {
  // Not exact names: all its collations take names for the same that differ in trailing spaces
  // alone.
  auto store = simba::support::mysql_store();
  store.name = "MySql57";
  store.set_up = [] { return to_string(simba::support::mysql_location()); };
  if (!simba::support::MySqlServer::missing().empty()) {
    testing::InitGoogleTest(&argc, argv);
    testing::RegisterTest("MySql57Contract", "IsNotTestedHere", nullptr, nullptr, __FILE__,
                          __LINE__, []() -> testing::Test* { return new NotHere; });
    return RUN_ALL_TESTS();
  }
  return simba::testkit::run_contract(argc, argv, store);
}
