#pragma once

#include <map>
#include <string>

#include "simba/testkit/store_contract.hpp"

namespace simba::support {

/// Makes a store of ours known to simba-contract-tests: `simba-contract-tests --store=NAME` runs
/// the contract on it. One object for each, of static lifetime.
class ContractStore {
 public:
  using Make = testkit::StoreUnderTest (*)();
  ContractStore(const std::string& name, Make make) { all().emplace(name, make); }

  static std::map<std::string, Make>& all() {
    static std::map<std::string, Make> stores;
    return stores;
  }
};

}  // namespace simba::support
