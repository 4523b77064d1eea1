// Names that stores are tempted to misread.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

/// A contender that checks nothing itself, so that the store's factory must.
class Unchecked final : public MutexContender {
 public:
  Unchecked(std::string mutex, std::string contender_id)
      : mutex_{std::move(mutex)}, contender_id_{std::move(contender_id)} {}

  const std::string& mutex() const noexcept override { return mutex_; }
  const std::string& contender_id() const noexcept override { return contender_id_; }
  void on_acquired(const MutexState& /*state*/) override {}
  void on_released(const MutexState& /*state*/) override {}

 private:
  const std::string mutex_;
  const std::string contender_id_;
};

/// The whole of exclusion under this name: held, refused to another, seen by an observer, given on.
void expect_usable(Contract& contract, const std::string& mutex, const std::string& id = {}) {
  SCOPED_TRACE("mutex name [" + mutex + "]");
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker first{mutex, *one, id.empty() ? "first of " + contract.fresh_name() : id};
  SimbaLocker second{mutex, *another};
  Observer observer{contract, mutex, *another};
  first.acquire(contract.patience());
  EXPECT_FALSE(second.try_acquire());
  observer.service().start();
  EXPECT_TRUE(observer.sees(first.contender_id()));
  first.close();
  second.acquire(contract.patience());
  EXPECT_TRUE(grows(first.fencing_token(), second.fencing_token()));
}

/// Refused by every way in, with `bound` (if any) in the message.
void expect_refused(Contract& contract, const std::string& mutex, const std::string& bound = {}) {
  SCOPED_TRACE("mutex name [" + mutex + "]");
  const auto factory = contract.factory();
  const auto refused = [&](const std::function<void()>& create) {
    try {
      create();
      ADD_FAILURE() << "the name was not refused";
    } catch (const InvalidArgumentError& error) {
      EXPECT_NE(std::string{error.what()}.find(bound), std::string::npos) << error.what();
    }
  };
  refused([&] {
    Unchecked contender{mutex, "a contender"};
    static_cast<void>(factory->create_mutex_contend_service(contender));
  });
  refused([&] {
    RecordingRetriever retriever{mutex};
    static_cast<void>(factory->create_mutex_retrieval_service(retriever));
  });
  refused([&] { const SimbaLocker locker{mutex, *factory}; });
}

bool refuses(const std::function<bool(std::string_view)>& says, const std::string& name) {
  return says && says(name);
}

std::string repeated(const std::string& character, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) {
    text += character;
  }
  return text;
}

const std::vector<std::string>& characters() {
  static const std::vector<std::string> all{"x", "\u00e9", "\u6f22", "\U0001F981"};
  return all;
}

void names_with_spaces_utf8_quotes_braces_and_percent_signs_work(Contract& contract) {
  for (const char* part :
       {"two  spaces ", "J\u00fcrgen \u6f22\u5b57 \U0001F981 ", "'", "''; --", "\"", "`", "{", "}",
        "{a}{b}", "%", "%s%n", "%2F", "\\", "\\0", "*?[a]", ":@@", "$(x)", "#!&|<>"}) {
    const std::string name = part + contract.fresh_name();
    if (refuses(contract.store().refuses_mutex, name)) {
      expect_refused(contract, name);
    } else {
      expect_usable(contract, name);
    }
  }
}

void names_with_slashes_work_or_are_refused(Contract& contract) {
  for (const std::string& name : {"a/" + contract.fresh_name(), "/" + contract.fresh_name(),
                                  contract.fresh_name() + "/..", "../" + contract.fresh_name()}) {
    if (contract.has(Capability::slashes_in_names)) {
      expect_usable(contract, name);
    } else {
      expect_refused(contract, name);
    }
  }
}

void names_of_the_longest_length_allowed_work(Contract& contract) {
  const std::size_t limit = contract.store().name_limits.mutex;
  for (const std::string& character : characters()) {
    const std::string name = contract.fresh_name();
    const std::string longest = name + repeated(character, limit - name.size());
    if (refuses(contract.store().refuses_mutex, longest)) {
      expect_refused(contract, longest);
      continue;
    }
    expect_usable(contract, longest);
    // A store that cuts names silently takes these two for one.
    const std::string twin = longest.substr(0, longest.size() - character.size()) + "y";
    const auto factory = contract.factory();
    SimbaLocker one{longest, *factory};
    SimbaLocker other{twin, *factory};
    EXPECT_TRUE(one.try_acquire());
    EXPECT_TRUE(other.try_acquire());
  }
}

void a_name_one_character_too_long_is_refused_with_the_bound(Contract& contract) {
  const std::size_t limit = contract.store().name_limits.mutex;
  for (const std::string& character : characters()) {
    expect_refused(contract, repeated(character, limit + 1), std::to_string(limit));
  }
}

void contender_ids_up_to_the_limit_work_and_longer_ones_are_refused(Contract& contract) {
  const std::size_t limit = contract.store().name_limits.contender_id;
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  for (const std::string& character : characters()) {
    expect_usable(contract, contract.fresh_name(), repeated(character, limit));
    Unchecked too_long{mutex, repeated(character, limit + 1)};
    try {
      static_cast<void>(factory->create_mutex_contend_service(too_long));
      ADD_FAILURE() << "the id was not refused";
    } catch (const InvalidArgumentError& error) {
      EXPECT_NE(std::string{error.what()}.find(std::to_string(limit)), std::string::npos)
          << error.what();
    }
  }
}

void contender_ids_with_quotes_braces_and_spaces_work(Contract& contract) {
  for (const char* id : {"it's", "two words", "{\"a\"}", "@@", "%s", "J\u00fcrgen", "\\", "a/b"}) {
    if (refuses(contract.store().refuses_contender_id, id)) {
      Unchecked contender{contract.fresh_name(), id};
      EXPECT_THROW(static_cast<void>(contract.factory()->create_mutex_contend_service(contender)),
                   InvalidArgumentError)
          << "contender id [" << id << "]";
    } else {
      expect_usable(contract, contract.fresh_name(), id);
    }
  }
}

void blank_and_malformed_names_are_refused(Contract& contract) {
  const std::string nul{"a\0b", 3};
  for (const std::string& name : {std::string{}, std::string{" "}, std::string{" \t\n "}, nul,
                                  std::string{"\xff\xfe"}, std::string{"\xc3"}}) {
    expect_refused(contract, name);
    const auto factory = contract.factory();
    Unchecked contender{contract.fresh_name(), name};
    EXPECT_THROW(static_cast<void>(factory->create_mutex_contend_service(contender)),
                 InvalidArgumentError)
        << "contender id [" << name << "]";
  }
}

void names_that_differ_in_case_accent_or_trailing_space_are_different(Contract& contract) {
  const std::string name = contract.fresh_name();
  const auto factory = contract.factory();
  std::vector<std::unique_ptr<SimbaLocker>> lockers;
  for (const char* tail : {"e", "E", "\u00e9", "e\u0301", "e ", " e", "e  "}) {
    lockers.push_back(std::make_unique<SimbaLocker>(name + tail, *factory));
    EXPECT_TRUE(lockers.back()->try_acquire()) << "[" << lockers.back()->mutex() << "]";
  }
}

}  // namespace

ContractCases name_cases() {
  return {
      {"NamesWithSpacesUtf8QuotesBracesAndPercentSignsWork",
       names_with_spaces_utf8_quotes_braces_and_percent_signs_work},
      {"NamesWithSlashesWorkOrAreRefused", names_with_slashes_work_or_are_refused},
      {"NamesOfTheLongestLengthAllowedWork", names_of_the_longest_length_allowed_work},
      {"ANameOneCharacterTooLongIsRefusedWithTheBound",
       a_name_one_character_too_long_is_refused_with_the_bound},
      {"ContenderIdsUpToTheLimitWorkAndLongerOnesAreRefused",
       contender_ids_up_to_the_limit_work_and_longer_ones_are_refused},
      {"ContenderIdsWithQuotesBracesAndSpacesWork",
       contender_ids_with_quotes_braces_and_spaces_work},
      {"BlankAndMalformedNamesAreRefused", blank_and_malformed_names_are_refused},
      {"NamesThatDifferInCaseAccentOrTrailingSpaceAreDifferent",
       names_that_differ_in_case_accent_or_trailing_space_are_different,
       {Capability::exact_names}},
  };
}

}  // namespace simba::testkit::detail
