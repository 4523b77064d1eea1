#include <array>
#include <cctype>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/store_contract.hpp"
#include "testkit/contract/child.hpp"
#include "testkit/contract/support.hpp"

namespace simba::testkit {

namespace {

using detail::Contract;
using detail::ContractCase;
using detail::ContractCases;
using detail::ContractRun;

class ContractTest : public ::testing::Test {
 public:
  ContractTest(std::shared_ptr<ContractRun> run, ContractCase test)
      : run_{std::move(run)}, case_{std::move(test)} {}

 private:
  void TestBody() override {
    for (const Capability needed : case_.needs) {
      if (!run_->store.capabilities.contains(needed)) {
        ++run_->skipped[needed];
        GTEST_SKIP() << "the store " << run_->store.name
                     << " does not claim: " << to_string(needed);
      }
      if (needed == Capability::separate_processes && run_->program.empty()) {
        ++run_->skipped[needed];
        GTEST_SKIP() << "only a program that calls run_contract() can start processes";
      }
    }
    Contract contract{*run_, case_.name};
    case_.body(contract);
  }

  const std::shared_ptr<ContractRun> run_;
  const ContractCase case_;
};

void check(bool holds, const std::string& message) {
  if (!holds) {
    throw InvalidArgumentError{"store under test: " + message};
  }
}

void check(const StoreUnderTest& store) {
  check(!store.name.empty(), "name must not be empty");
  for (const char letter : store.name) {
    check(std::isalnum(static_cast<unsigned char>(letter)) != 0,
          "name must consist of letters and digits (got \"" + store.name + "\")");
  }
  check(static_cast<bool>(store.make_factory), "make_factory must not be empty");
  check(store.capabilities.contains(Capability::cut_off) ==
            static_cast<bool>(store.make_cuttable_factory),
        "the capability cut_off requires make_cuttable_factory, and vice versa");
  check(store.capabilities.contains(Capability::lease_store) == static_cast<bool>(store.make_store),
        "the capability lease_store requires make_store, and vice versa");
  check(store.scale > 0, "scale must be positive (got " + std::to_string(store.scale) + ")");
  check(store.name_limits.mutex >= 40, "name_limits.mutex must be at least 40 (got " +
                                           std::to_string(store.name_limits.mutex) + ")");
  // Options that contradict each other are reported here and not by each test.
  ContentionOptions options;
  options.ttl = store.ttl;
  options.transition = store.transition;
  options.jitter = store.jitter;
  static_cast<void>(ContentionPlan{options});
}

std::shared_ptr<ContractRun> register_contract(StoreUnderTest store, std::string program) {
  check(store);
  auto run = std::make_shared<ContractRun>();
  run->store = std::move(store);
  run->program = std::move(program);
  const std::string suite = run->store.name + "Contract";
  for (const auto& theme :
       {detail::port_cases(), detail::ownership_cases(), detail::life_cases(),
        detail::exclusion_cases(), detail::hand_over_cases(), detail::crash_cases(),
        detail::outage_cases(), detail::observer_cases(), detail::callback_cases(),
        detail::locker_cases(), detail::client_cases(), detail::scheduler_cases(),
        detail::name_cases(), detail::size_cases(), detail::process_cases(),
        detail::identity_cases(), detail::record_cases()}) {
    for (const ContractCase& test : theme) {
      ::testing::RegisterTest(suite.c_str(), test.name, nullptr, nullptr, test.location.file_name(),
                              static_cast<int>(test.location.line()), [run, test] {
                                return new ContractTest{run, test};
                              });
    }
  }
  return run;
}

void print_summary(const ContractRun& run) {
  std::string skipped;
  for (const auto& [capability, tests] : run.skipped) {
    skipped += (skipped.empty() ? "" : "; ") + std::string{to_string(capability)} + " (" +
               std::to_string(tests) + (tests == 1 ? " test)" : " tests)");
  }
  std::printf("%sContract: capabilities skipped: %s\n", run.store.name.c_str(),
              skipped.empty() ? "none" : skipped.c_str());
}

}  // namespace

std::string_view to_string(Capability capability) noexcept {
  switch (capability) {
    case Capability::separate_processes:
      return "contenders in separate processes";
    case Capability::cut_off:
      return "cutting a factory off the store";
    case Capability::prompt_hand_over:
      return "prompt hand-over";
    case Capability::fair_hand_over:
      return "fair hand-over";
    case Capability::slashes_in_names:
      return "slashes in names";
    case Capability::exact_names:
      return "names that differ in case, accent or trailing space alone";
    case Capability::duplicate_ids:
      return "noticing that two use one contender id";
    case Capability::lease_store:
      return "tests of the lease store itself";
    case Capability::timed_leases:
      return "leases that end by the store's clock";
  }
  return "unknown capability";
}

CuttableFactory make_cuttable_factory(std::shared_ptr<engine::LeaseStore> store,
                                      std::shared_ptr<const Runtime> runtime,
                                      const ContentionOptions& options) {
  const auto line = std::make_shared<FaultStore>(std::move(store));
  return {
      .factory = std::make_unique<engine::LeaseServiceFactory>(line, std::move(runtime), options),
      .cut = [line] { line->black_hole(); },
      .mend = [line] { line->mend(); }};
}

void register_store_contract(StoreUnderTest store) { register_contract(std::move(store), {}); }

int run_contract(int argc, char** argv, StoreUnderTest store) {
  if (const auto status = detail::run_as_child(argc, argv, store)) {
    return *status;
  }
  ::testing::InitGoogleTest(&argc, argv);
  const auto run = register_contract(std::move(store), argv[0]);
  const int status = RUN_ALL_TESTS();
  if (!::testing::GTEST_FLAG(list_tests)) {
    print_summary(*run);
  }
  return status;
}

}  // namespace simba::testkit
