// A contract that nothing can fail is worth nothing: stores that are broken in one point each, and
// the test of the contract that must find it. Each runs in a process of its own.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <utility>

#include <gtest/gtest.h>

#include "simba/core/clock.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/store_contract.hpp"

namespace {

using simba::FencingToken;
using simba::engine::AnswerHandler;
using simba::engine::LeaseAnswer;
using simba::engine::LeaseRecord;
using simba::engine::LeaseRequest;
using simba::engine::Notice;
using simba::engine::NoticeHandler;
using simba::engine::Watch;

enum class Fault {
  none,
  grants_to_everyone,
  repeats_tokens,
  does_not_renew,
  never_releases,
  tells_nobody,
  hides_the_owner,
  ends_leases_early,
  never_ends_leases,
  cuts_names,
  ignores_case,
  overlooks_namesakes,
  ends_crossed_grants,
};

const std::map<std::string_view, Fault>& faults() {
  static const std::map<std::string_view, Fault> all{
      {"none", Fault::none},
      {"grants-to-everyone", Fault::grants_to_everyone},
      {"repeats-tokens", Fault::repeats_tokens},
      {"does-not-renew", Fault::does_not_renew},
      {"never-releases", Fault::never_releases},
      {"tells-nobody", Fault::tells_nobody},
      {"hides-the-owner", Fault::hides_the_owner},
      {"ends-leases-early", Fault::ends_leases_early},
      {"never-ends-leases", Fault::never_ends_leases},
      {"cuts-names", Fault::cuts_names},
      {"ignores-case", Fault::ignores_case},
      {"overlooks-namesakes", Fault::overlooks_namesakes},
      {"ends-crossed-grants", Fault::ends_crossed_grants}};
  return all;
}

/// The in-memory store, but for one fault.
class BrokenStore final : public simba::engine::LeaseStore {
 public:
  explicit BrokenStore(Fault fault) : fault_{fault} {}

  simba::NameLimits name_limits() const noexcept override { return store_->name_limits(); }
  std::shared_ptr<void> attach() override { return store_->attach(); }

  void acquire(const LeaseRequest& request, AnswerHandler handler) override {
    if (fault_ == Fault::ends_crossed_grants) {
      // As if it had lost by its own account what it does not know of yet.
      store_->retrieve(request, [&](const LeaseAnswer& answer) {
        const LeaseRecord& found = *answer.record();
        if (found.owner_id != request.contender_id) return;
        store_->release(request, found.fencing_token, [](const LeaseAnswer&) {});
      });
    }
    store_->acquire(broken(request), [=, this](LeaseAnswer answer) {
      const bool early =
          fault_ == Fault::ends_leases_early && answer.record()->owner_id == request.contender_id;
      handler(early || fault_ == Fault::grants_to_everyone ? granted(request, std::move(answer))
                                                           : with_token(std::move(answer)));
    });
  }

  void guard(const LeaseRequest& request, AnswerHandler handler) override {
    const bool claims = fault_ == Fault::grants_to_everyone || fault_ == Fault::does_not_renew;
    const auto answer_with = [=, this](LeaseAnswer answer) {
      handler(claims ? granted(request, std::move(answer)) : with_token(std::move(answer)));
    };
    if (claims) {
      store_->retrieve(broken(request), answer_with);
    } else {
      store_->guard(broken(request), answer_with);
    }
  }

  void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) override {
    if (fault_ == Fault::never_releases) {
      handler(LeaseRecord{});
    } else if (fault_ == Fault::repeats_tokens) {
      store_->retrieve(broken(request), [=, this](const LeaseAnswer& answer) {
        store_->release(broken(request), answer.record()->fencing_token, handler);
      });
    } else {
      store_->release(broken(request), token, std::move(handler));
    }
  }

  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    if (fault_ == Fault::hides_the_owner) {
      handler(LeaseRecord{});
    } else {
      store_->retrieve(broken(request), std::move(handler));
    }
  }

  std::unique_ptr<Watch> watch(const LeaseRequest& request, NoticeHandler handler) override {
    if (fault_ == Fault::tells_nobody) {
      return std::make_unique<Watch>();
    }
    const bool mute = fault_ == Fault::hides_the_owner || fault_ == Fault::repeats_tokens;
    LeaseRequest as_observer = broken(request);
    if (mute) {
      as_observer.contender_id.clear();  // so that it is granted nothing
    }
    return store_->watch(as_observer,
                         [=](const Notice& notice) { handler(mute ? Notice{} : notice); });
  }

 private:
  LeaseRequest broken(LeaseRequest request) const {
    switch (fault_) {
      case Fault::ends_leases_early:
        request.transition /= 8;
        request.ttl /= 2;
        break;
      case Fault::never_ends_leases:
        request.transition = std::chrono::hours{1};
        break;
      case Fault::cuts_names:
        request.mutex.resize(std::min<std::size_t>(request.mutex.size(), 60));
        break;
      case Fault::ignores_case:
        std::transform(request.mutex.begin(), request.mutex.end(), request.mutex.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        break;
      case Fault::overlooks_namesakes:
        request.instance = 0;
        break;
      default:
        break;
    }
    return request;
  }

  /// Claims a whole lease for whoever asks.
  static LeaseAnswer granted(const LeaseRequest& request, LeaseAnswer answer) {
    LeaseRecord record = *answer.record();
    record.owner_id = request.contender_id;
    record.ttl_left = request.ttl;
    record.transition_left = request.ttl + request.transition;
    return record;
  }

  LeaseAnswer with_token(LeaseAnswer answer) const {
    LeaseRecord record = *answer.record();
    if (fault_ == Fault::repeats_tokens && !record.owner_id.empty()) {
      record.fencing_token = 1;
    }
    return record;
  }

  const Fault fault_;
  const std::shared_ptr<simba::memory::MemoryStore> store_ =
      std::make_shared<simba::memory::MemoryStore>(simba::make_system_clock());
};

int run_broken(int argc, char** argv, Fault fault) {
  using simba::ContentionOptions;
  using simba::testkit::Capability;
  const auto broken = std::make_shared<BrokenStore>(fault);
  simba::testkit::StoreUnderTest store;
  store.name = "Broken";
  store.capabilities = {Capability::cut_off,        Capability::prompt_hand_over,
                        Capability::fair_hand_over, Capability::exact_names,
                        Capability::duplicate_ids,  Capability::lease_store,
                        Capability::timed_leases};
  store.make_factory = [=](const std::string&, const ContentionOptions& options) {
    return std::make_unique<simba::engine::LeaseServiceFactory>(broken, simba::make_runtime(),
                                                                options);
  };
  store.make_store = [=](const std::string&, const ContentionOptions&) { return broken; };
  store.make_cuttable_factory = [=](const std::string&, const ContentionOptions& options) {
    return simba::testkit::make_cuttable_factory(broken, simba::make_runtime(), options);
  };
  return simba::testkit::run_contract(argc, argv, store);
}

struct Finding {
  const char* fault;
  const char* test;    ///< the one that must find it
  double scale = 0.3;  ///< greater where a stall of the machine can hide it

  friend std::ostream& operator<<(std::ostream& out, const Finding& finding) {
    return out << finding.fault;
  }
};

constexpr std::array findings{
    Finding{"grants-to-everyone", "TenLockersInThreadsNeverHoldAtTheSameTime"},
    Finding{"grants-to-everyone", "TenContendersAreNeverTwoBetweenAcquiredAndReleased"},
    Finding{"grants-to-everyone", "PortDoesNotGrantAHeldMutexToAnotherAndNamesItsOwner"},
    Finding{"repeats-tokens", "PortTokensGrowFromOneOwnershipToTheNext"},
    Finding{"repeats-tokens", "PortChangesNothingByAReleaseUnderAnotherTokenAndTellsTheRightOne"},
    Finding{"does-not-renew", "PortRenewsNoLeaseThatIsOver"},
    Finding{"never-releases", "PortFreesAMutexByAReleaseUnderItsToken"},
    Finding{"tells-nobody", "PortTellsObserversOfChangesAndGrantsThemNothing"},
    Finding{"ends-leases-early", "PortLetsNobodyElseInBeforeTheStatedEndOfALease", 1},
    Finding{"overlooks-namesakes", "PortGrantsANamesakeNothingAndTellsItSo"},
    Finding{"ends-crossed-grants", "PortKeepsAGrantThatAnAcquisitionCrosses"},
    Finding{"repeats-tokens", "FencingTokensGrowWithEveryAcquisition"},
    Finding{"repeats-tokens", "AServiceStartedAgainAcquiresAgainWithAGreaterToken"},
    Finding{"does-not-renew", "RenewalHoldsOwnershipPastTheLease", 1},
    Finding{"does-not-renew", "ASlowCallbackDisturbsNoRenewal", 1},
    Finding{"never-releases", "AReleaseReachesAWaiterWithinTheStatedBound"},
    Finding{"tells-nobody", "AReleaseReachesAWaiterWithinTheStatedBound"},
    Finding{"hides-the-owner", "AnObserverSeesEveryChangeAndWhoOwns"},
    Finding{"hides-the-owner", "AnObserverStartedLateSeesThePresentOwner"},
    Finding{"ends-leases-early", "ACutOffOwnerKnowsItBeforeTheNextOneOwns", 1},
    Finding{"never-ends-leases", "TheNextOneTakesOverWithinTheBoundAfterACrash"},
    Finding{"cuts-names", "NamesOfTheLongestLengthAllowedWork"},
    Finding{"ignores-case", "NamesThatDifferInCaseAccentOrTrailingSpaceAreDifferent"},
    Finding{"overlooks-namesakes", "TwoOwnersWithOneIdDoNotOutlastARenewal"},
    Finding{"overlooks-namesakes", "TheOneThatHasNoticedItsIdTwiceStaysOut"},
};

/// The exit status of the contract over a store with this fault, and what it wrote.
std::pair<int, std::string> run(const std::string& fault, const std::string& filter, double scale) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const char* const own = std::getenv("SIMBA_TEST_SCALE");
  scale *= own == nullptr ? 1 : std::max(std::atof(own), 1.0);
  const std::string command = "SIMBA_TEST_SCALE=" + std::to_string(scale) +
                              " SIMBA_TEST_LEASE_SCALE=" + std::to_string(scale) + " '" + program +
                              "' --broken=" + fault +
                              " --gtest_color=no '--gtest_filter=" + filter + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "re");
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

class BrokenStores : public ::testing::TestWithParam<Finding> {};

TEST_P(BrokenStores, AreFoundOut) {
  const std::string test = std::string{"BrokenContract."} + GetParam().test;
  const auto [status, output] = run(GetParam().fault, test, GetParam().scale);
  EXPECT_EQ(status, 1) << output;
  EXPECT_NE(output.find("[  FAILED  ] " + test), std::string::npos) << output;
}

std::string test_name(const ::testing::TestParamInfo<Finding>& finding) {
  std::string name = std::string{finding.param.fault} + "_by_" + finding.param.test;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(ByTheContract, BrokenStores, ::testing::ValuesIn(findings), test_name);

TEST(UnbrokenStore, PassesTheSameTests) {
  std::string filter;
  for (const Finding& finding : findings) {
    filter += std::string{"BrokenContract."} + finding.test + ":";
  }
  const auto [status, output] = run("none", filter, 1);
  EXPECT_EQ(status, 0) << output;
  EXPECT_EQ(output.find("SKIPPED"), std::string::npos) << output;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view option = "--broken=";
  if (argc > 1 && std::string_view{argv[1]}.starts_with(option)) {
    const auto found = faults().find(std::string_view{argv[1]}.substr(option.size()));
    return found != faults().end() ? run_broken(argc, argv, found->second) : 2;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
