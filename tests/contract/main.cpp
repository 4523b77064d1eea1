#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "contract/stores.hpp"
#include "support/servers.hpp"

namespace {

/// Stands for the contract on a server that is not installed and need not be.
class NotHere : public testing::Test {
 public:
  explicit NotHere(std::string why) : why_{std::move(why)} {}

 private:
  void TestBody() override { GTEST_SKIP() << why_; }

  const std::string why_;
};

/// Why there is no such server here; empty: there is, or there must be.
std::string missing(const std::string& store) {
  if (store == "mysql57") return simba::support::MySqlServer::missing();
  if (store == "mysql97") return simba::support::MySql97Server::missing();
  return {};
}

int skip_contract(int argc, char** argv, const std::string& store, const std::string& why) {
  testing::InitGoogleTest(&argc, argv);
  testing::RegisterTest((store + "Contract").c_str(), "IsNotTestedHere", nullptr, nullptr, __FILE__,
                        __LINE__, [why]() -> testing::Test* { return new NotHere{why}; });
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int argc, char** argv) {
  using simba::support::ContractStore;
  constexpr std::string_view option = "--store=";
  constexpr const char* variable = "SIMBA_TEST_STORE";
  // The contract runs this program again for contenders in processes of their own, with arguments
  // that it chooses: these find the name of the store in their environment.
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  if (argc > 1 && std::string_view{argv[1]}.starts_with(option)) {
    ::setenv(variable, argv[1] + option.size(), 1);
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  const char* name = std::getenv(variable);
  // NOLINTEND(concurrency-mt-unsafe)
  const auto& stores = ContractStore::all();
  const auto found = stores.find(name != nullptr ? name : "");
  if (found == stores.end()) {
    std::cerr << "usage: simba-contract-tests --store=NAME [options of GoogleTest]; stores:";
    for (const auto& [known, make] : stores) std::cerr << ' ' << known;
    std::cerr << '\n';
    return 2;
  }
  const auto store = found->second();
  if (const auto why = missing(found->first); !why.empty()) {
    return skip_contract(argc, argv, store.name, why);
  }
  return simba::testkit::run_contract(argc, argv, store);
}
