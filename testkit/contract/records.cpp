// What is kept beside mutexes: MutexRecords.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/support.hpp"

namespace simba::testkit::detail {
namespace {

using namespace std::chrono_literals;
using Outcome = RecordAnswer::Outcome;

/// The one result of a request. Handlers keep it alive, so they may come late.
template <typename T>
class Reply {
 public:
  void set(T value) {
    const std::lock_guard lock{mutex_};
    EXPECT_FALSE(value_) << "answered twice";
    value_ = std::move(value);
  }
  std::optional<T> value() const {
    const std::lock_guard lock{mutex_};
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<T> value_;  // guarded by mutex_
};

template <typename T>
T result_of(const Contract& contract, const std::function<void(std::function<void(T)>)>& ask) {
  const auto reply = std::make_shared<Reply<T>>();
  ask([reply](T value) { reply->set(std::move(value)); });
  contract.eventually([&] { return reply->value().has_value(); });
  auto value = reply->value();
  if (!value) throw Error{ErrorKind::internal, "no answer"};
  return std::move(*value);
}

/// The records as one client sees them.
///
/// Threads: every function may be called from any thread.
class Records {
 public:
  Records(const Contract& contract, const MutexServiceFactory& factory)
      : contract_{contract}, records_{factory.records()} {}
  explicit Records(const Contract& contract) : Records{contract, *contract.factory()} {}

  RecordResult try_read(const std::string& mutex) const {
    return result_of<RecordResult>(
        contract_, [&](RecordHandler handler) { records_->read(mutex, std::move(handler)); });
  }
  RecordResult try_write(const RecordWrite& write) const {
    return result_of<RecordResult>(
        contract_, [&](RecordHandler handler) { records_->write(write, std::move(handler)); });
  }

  /// Asks again where the answer was an error that passes.
  RecordAnswer read(const std::string& mutex) const {
    return patiently([&] { return try_read(mutex); });
  }

  /// The same, of a writer that writes each text once: after an error that leaves it open whether
  /// the record was written, it looks.
  RecordAnswer write(const RecordWrite& write) const {
    return patiently([&]() -> RecordResult {
      RecordResult result = try_write(write);
      const Error* error = std::get_if<Error>(&result);
      if (error == nullptr || !error->in_doubt()) return result;
      RecordAnswer found = read(write.mutex);
      if (found.record.version == write.replaces) return result;
      const bool ours =
          found.record.version == write.replaces + 1 && found.record.text == write.text;
      found.outcome = ours ? Outcome::written : Outcome::changed;
      return found;
    });
  }

  void expect(const std::string& mutex, std::uint64_t version, const std::string& text) const {
    const RecordAnswer found = read(mutex);
    EXPECT_EQ(found.outcome, Outcome::found);
    EXPECT_EQ(found.record.version, version);
    EXPECT_TRUE(found.record.text == text) << found.record.text.substr(0, 100);
  }

 private:
  static RecordAnswer patiently(const std::function<RecordResult()>& ask) {
    constexpr int attempts = 5;
    for (int attempt = 1;; ++attempt) {
      const RecordResult result = ask();
      if (const auto* answer = std::get_if<RecordAnswer>(&result)) return *answer;
      const auto& error = std::get<Error>(result);
      if (attempt == attempts || !error.is_transient()) throw Error{error};
    }
  }

  const Contract& contract_;
  const std::shared_ptr<MutexRecords> records_;
};

RecordOwner owner_of(const SimbaLocker& locker) {
  return {.contender_id = locker.contender_id(), .fencing_token = locker.fencing_token()};
}

// ---- reading and writing ------------------------------------------------------------------------

void a_record_that_nobody_has_written_is_empty(Contract& contract) {
  const Records records{contract};
  const RecordAnswer found = records.read(contract.fresh_name());
  EXPECT_EQ(found.outcome, Outcome::found);
  EXPECT_EQ(found.record.version, 0U);
  EXPECT_EQ(found.record.text, "");
  const auto off = found.record.now - std::chrono::system_clock::now();
  EXPECT_LT(std::chrono::abs(off), 1h) << "it has a wall clock all the same";
}

void a_record_is_read_by_all_as_it_was_written_last(Contract& contract) {
  const Records one{contract};
  const Records another{contract};
  const std::string mutex = contract.fresh_name();
  const RecordAnswer first = one.write({.mutex = mutex, .text = "first", .replaces = 0});
  EXPECT_EQ(first.outcome, Outcome::written);
  EXPECT_EQ(first.record.version, 1U);
  EXPECT_EQ(first.record.text, "first");
  another.expect(mutex, 1, "first");
  const RecordAnswer second = another.write({.mutex = mutex, .text = "second", .replaces = 1});
  EXPECT_EQ(second.outcome, Outcome::written);
  EXPECT_EQ(second.record.version, 2U);
  EXPECT_GE(second.record.now, first.record.now - 1s);
  one.expect(mutex, 2, "second");
  EXPECT_EQ(one.write({.mutex = mutex, .text = "", .replaces = 2}).record.version, 3U);
  another.expect(mutex, 3, "");
}

void a_write_that_replaces_another_version_changes_nothing_and_answers_what_is_there(
    Contract& contract) {
  const Records records{contract};
  const std::string mutex = contract.fresh_name();
  const RecordAnswer none = records.write({.mutex = mutex, .text = "x", .replaces = 1});
  EXPECT_EQ(none.outcome, Outcome::changed);
  EXPECT_EQ(none.record.version, 0U);
  EXPECT_EQ(none.record.text, "");
  records.write({.mutex = mutex, .text = "one", .replaces = 0});
  records.write({.mutex = mutex, .text = "two", .replaces = 1});
  for (const std::uint64_t other : {0U, 1U, 3U}) {
    const RecordAnswer answer = records.write({.mutex = mutex, .text = "x", .replaces = other});
    EXPECT_EQ(answer.outcome, Outcome::changed);
    EXPECT_EQ(answer.record.version, 2U);
    EXPECT_EQ(answer.record.text, "two");
  }
  records.expect(mutex, 2, "two");
}

void of_two_that_replace_the_same_version_one_wins(Contract& contract) {
  const Records one{contract};
  const Records another{contract};
  const std::string mutex = contract.fresh_name();
  for (std::uint64_t version = 0; version < 10;) {
    RecordResult left = Error{ErrorKind::internal, "never asked"};
    std::thread thread{
        [&] { left = one.try_write({.mutex = mutex, .text = "left", .replaces = version}); }};
    const RecordResult right =
        another.try_write({.mutex = mutex, .text = "right", .replaces = version});
    thread.join();
    const auto* first = std::get_if<RecordAnswer>(&left);
    const auto* second = std::get_if<RecordAnswer>(&right);
    if (first == nullptr || second == nullptr) {  // a stall of the machine
      version = one.read(mutex).record.version;
      continue;
    }
    ++version;
    const bool left_wins = first->outcome == Outcome::written;
    EXPECT_EQ(first->outcome, left_wins ? Outcome::written : Outcome::changed) << safety_violation;
    EXPECT_EQ(second->outcome, left_wins ? Outcome::changed : Outcome::written) << safety_violation;
    for (const RecordAnswer& answer : {*first, *second}) {
      EXPECT_EQ(answer.record.version, version);
      EXPECT_EQ(answer.record.text, left_wins ? "left" : "right");
    }
  }
}

void concurrent_increments_lose_none(Contract& contract) {
  constexpr int threads = 4;
  constexpr int rounds = 10;
  const std::string mutex = contract.fresh_name();
  const Records one{contract};
  const Records another{contract};
  std::atomic<int> written{0};
  std::atomic<int> in_doubt{0};
  std::vector<std::thread> writers;
  writers.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    writers.emplace_back([&, i] {
      const Records& records = i % 2 == 0 ? one : another;
      try {
        for (int mine = 0; mine < rounds;) {
          const MutexRecord before = records.read(mutex).record;
          const int count = before.text.empty() ? 0 : std::stoi(before.text);
          const RecordResult result = records.try_write(
              {.mutex = mutex, .text = std::to_string(count + 1), .replaces = before.version});
          if (const auto* error = std::get_if<Error>(&result)) {
            if (!error->in_doubt()) continue;
            ++in_doubt;
            ++mine;
          } else if (std::get<RecordAnswer>(result).outcome == Outcome::written) {
            ++written;
            ++mine;
          }
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const MutexRecord record = one.read(mutex).record;
  ASSERT_FALSE(record.text.empty());
  const int count = std::stoi(record.text);
  EXPECT_GE(count, written.load()) << safety_violation << "lost updates";
  EXPECT_LE(count, written.load() + in_doubt.load()) << safety_violation;
  EXPECT_EQ(record.version, static_cast<std::uint64_t>(count));
}

void a_record_survives_releases_new_owners_and_all_its_clients(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  {
    const auto factory = contract.factory();
    const Records records{contract, *factory};
    SimbaLocker locker{mutex, *factory};
    locker.acquire(contract.patience());
    EXPECT_EQ(
        records.write({.mutex = mutex, .text = "kept", .replaces = 0, .owner = owner_of(locker)})
            .outcome,
        Outcome::written);
  }
  const auto factory = contract.factory();
  SimbaLocker next{mutex, *factory};
  next.acquire(contract.patience());
  Records{contract, *factory}.expect(mutex, 1, "kept");
  next.close();
  Records{contract}.expect(mutex, 1, "kept");
}

void a_record_makes_nobody_own_its_mutex_and_ends_no_ownership(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const Records records{contract};
  records.write({.mutex = mutex, .text = "first", .replaces = 0});
  const auto factory = contract.factory();
  SimbaLocker locker{mutex, *factory};
  ASSERT_TRUE(locker.try_acquire());
  records.write({.mutex = mutex, .text = "second", .replaces = 1});
  EXPECT_TRUE(locker.is_held());
  const auto other = contract.factory();
  SimbaLocker second{mutex, *other};
  EXPECT_FALSE(second.try_acquire()) << safety_violation;
}

// ---- on condition that the writer owns the mutex ------------------------------------------------

void a_write_of_one_who_is_not_the_owner_is_refused(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  const Records records{contract, *factory};
  SimbaLocker locker{mutex, *factory};
  RecordWrite write{.mutex = mutex, .text = "x", .replaces = 0};
  write.owner = RecordOwner{.contender_id = locker.contender_id(), .fencing_token = 1};
  EXPECT_EQ(records.write(write).outcome, Outcome::not_owned) << safety_violation << "nobody owns";

  locker.acquire(contract.patience());
  const FencingToken token = locker.fencing_token();
  const std::string id = locker.contender_id();
  const std::vector<RecordOwner> others{
      {.contender_id = "someone else", .fencing_token = token},
      {.contender_id = id, .fencing_token = token + 1'000},
      {.contender_id = id, .fencing_token = token - 1},
      {.contender_id = id, .fencing_token = 0},
  };
  for (const RecordOwner& other : others) {
    write.owner = other;
    const RecordAnswer answer = records.write(write);
    EXPECT_EQ(answer.outcome, Outcome::not_owned)
        << safety_violation << other.contender_id << ' ' << other.fencing_token;
    EXPECT_EQ(answer.record.version, 0U);
  }
  records.expect(mutex, 0, "");

  write.owner = owner_of(locker);
  EXPECT_EQ(records.write(write).outcome, Outcome::written);
  locker.close();
  write.replaces = 1;
  const RecordAnswer late = records.write(write);
  EXPECT_EQ(late.outcome, Outcome::not_owned) << safety_violation << "released";
  EXPECT_EQ(late.record.text, "x") << "the record that is there";
  records.expect(mutex, 1, "x");
}

void a_former_owner_cannot_write_and_its_successor_can(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker first{mutex, *one};
  first.acquire(contract.patience());
  const RecordOwner former = owner_of(first);
  first.close();
  SimbaLocker second{mutex, *another};
  second.acquire(contract.patience());
  const RecordWrite late{.mutex = mutex, .text = "late", .replaces = 0, .owner = former};
  EXPECT_EQ((Records{contract, *one}.write(late).outcome), Outcome::not_owned) << safety_violation;
  EXPECT_EQ((Records{contract, *another}.write(late).outcome), Outcome::not_owned)
      << safety_violation;
  const RecordWrite timely{
      .mutex = mutex, .text = "timely", .replaces = 0, .owner = owner_of(second)};
  EXPECT_EQ((Records{contract, *another}.write(timely).outcome), Outcome::written);
  Records{contract}.expect(mutex, 1, "timely");
}

void an_owner_cannot_write_under_the_token_of_its_ownership_before(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  const Records records{contract, *factory};
  const std::string id = "the same";
  std::optional<RecordOwner> former;
  {
    SimbaLocker locker{mutex, *factory, id};
    locker.acquire(contract.patience());
    former = owner_of(locker);
  }
  SimbaLocker locker{mutex, *factory, id};
  locker.acquire(contract.patience());
  EXPECT_EQ(records.write({.mutex = mutex, .text = "x", .replaces = 0, .owner = former}).outcome,
            Outcome::not_owned)
      << safety_violation;
  EXPECT_EQ(records.write({.mutex = mutex, .text = "x", .replaces = 0, .owner = owner_of(locker)})
                .outcome,
            Outcome::written);
}

/// A contender on the store itself, which renews when it is told to.
class Contender {
 public:
  Contender(const Contract& contract, const ContentionOptions& lease)
      : contract_{contract},
        lease_{lease},
        store_{contract.store().make_store(contract.location(), lease)},
        attachment_{store_->attach()} {}

  FencingToken acquire(const std::string& mutex) const {
    return record([&](engine::AnswerHandler handler) {
             store_->acquire(request_of(mutex), std::move(handler));
           })
        .fencing_token;
  }
  FencingToken guard(const std::string& mutex) const {
    return record([&](engine::AnswerHandler handler) {
             store_->guard(request_of(mutex), std::move(handler));
           })
        .fencing_token;
  }
  bool is_free(const std::string& mutex) const {
    return contract_.eventually([&] {
      return record([&](engine::AnswerHandler handler) {
               store_->retrieve(request_of(mutex), std::move(handler));
             })
          .owner_id.empty();
    });
  }
  Outcome write(const std::string& mutex, FencingToken token, std::uint64_t replaces) const {
    const RecordWrite write{.mutex = mutex,
                            .text = "text",
                            .replaces = replaces,
                            .owner = RecordOwner{.contender_id = id, .fencing_token = token}};
    const RecordResult result = result_of<RecordResult>(contract_, [&](RecordHandler handler) {
      store_->records()->write(write, std::move(handler));
    });
    if (const auto* error = std::get_if<Error>(&result)) throw Error{*error};
    return std::get<RecordAnswer>(result).outcome;
  }

  static constexpr const char* id = "a";

 private:
  engine::LeaseRequest request_of(const std::string& mutex) const {
    return {.mutex = mutex,
            .contender_id = id,
            .ttl = lease_.ttl,
            .transition = lease_.transition,
            .instance = 1,
            .waiting_since = waits_since_};
  }

  engine::LeaseRecord record(const std::function<void(engine::AnswerHandler)>& ask) const {
    constexpr int attempts = 100;  // a store may refuse while it connects
    for (int attempt = 1;; ++attempt) {
      const auto answer = result_of<engine::LeaseAnswer>(contract_, ask);
      if (answer.record() != nullptr) return *answer.record();
      if (attempt == attempts || !answer.error()->is_transient()) throw Error{*answer.error()};
      std::this_thread::sleep_for(10ms);
    }
  }

  const Contract& contract_;
  const ContentionOptions lease_;
  const LocalTime waits_since_ =
      contract_.now();  // so each of its requests crosses its first grant
  const std::shared_ptr<engine::LeaseStore> store_;
  const std::shared_ptr<void> attachment_;
};

void an_owner_may_write_under_its_first_token_however_often_it_has_renewed(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const Contender owner{contract, contract.calm_lease()};
  const FencingToken first = owner.acquire(mutex);
  FencingToken last = first;
  for (int i = 0; i < 5; ++i) last = owner.guard(mutex);
  EXPECT_EQ(owner.write(mutex, first, 0), Outcome::written);
  EXPECT_EQ(owner.write(mutex, last, 1), Outcome::written);
}

/// As where a waiter's request crosses the notice of its grant.
void an_owner_may_write_under_its_first_token_also_if_it_was_granted_again(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const Contender owner{contract, contract.calm_lease()};
  const FencingToken first = owner.acquire(mutex);
  const FencingToken second = owner.acquire(mutex);
  EXPECT_EQ(owner.write(mutex, first, 0), Outcome::written);
  const FencingToken third = owner.acquire(mutex);
  EXPECT_EQ(owner.write(mutex, first, 1), Outcome::written);
  EXPECT_EQ(owner.write(mutex, second, 2), Outcome::written);
  EXPECT_EQ(owner.write(mutex, third, 3), Outcome::written);
}

void an_owner_whose_lease_is_over_cannot_write(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const Contender owner{contract, contract.short_lease()};
  const FencingToken token = owner.acquire(mutex);
  ASSERT_TRUE(owner.is_free(mutex));
  EXPECT_EQ(owner.write(mutex, token, 0), Outcome::not_owned) << safety_violation;
  Records{contract}.expect(mutex, 0, "");
}

void without_the_condition_anybody_may_write(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  SimbaLocker locker{mutex, *factory};
  locker.acquire(contract.patience());
  const Records stranger{contract};
  EXPECT_EQ(stranger.write({.mutex = mutex, .text = "hello", .replaces = 0}).outcome,
            Outcome::written);
  Records{contract, *factory}.expect(mutex, 1, "hello");
}

// ---- not before a time --------------------------------------------------------------------------

void a_write_is_refused_before_its_time_and_told_what_time_it_is(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const Records records{contract};
  const SystemTime now = records.read(mutex).record.now;
  RecordWrite write{.mutex = mutex, .text = "x", .replaces = 0, .not_before = now + 1h};
  const RecordAnswer early = records.write(write);
  EXPECT_EQ(early.outcome, Outcome::too_early);
  EXPECT_GE(early.record.now, now - 1s);
  EXPECT_LT(early.record.now, now + 1h);
  records.expect(mutex, 0, "");
  write.not_before = now;
  EXPECT_EQ(records.write(write).outcome, Outcome::written);
}

void a_refusal_tells_of_ownership_before_version_before_time(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  const Records records{contract, *factory};
  SimbaLocker locker{mutex, *factory};
  locker.acquire(contract.patience());
  const SystemTime late = records.read(mutex).record.now + 1h;
  RecordWrite write{.mutex = mutex, .text = "x", .replaces = 7, .not_before = late};
  write.owner = RecordOwner{.contender_id = "someone else", .fencing_token = 1};
  EXPECT_EQ(records.write(write).outcome, Outcome::not_owned);
  write.owner = owner_of(locker);
  EXPECT_EQ(records.write(write).outcome, Outcome::changed);
  write.replaces = 0;
  EXPECT_EQ(records.write(write).outcome, Outcome::too_early);
  write.not_before.reset();
  EXPECT_EQ(records.write(write).outcome, Outcome::written);
}

// ---- texts and names ----------------------------------------------------------------------------

void any_text_up_to_the_limit_comes_back_unchanged(Contract& contract) {
  const Records records{contract};
  const Records others{contract};
  const std::string mutex = contract.fresh_name();
  const std::string odd =
      "J\u00fcrgen \u6f22\u5b57 \U0001F981 'it''s' \"a\\\"b\" \\0 \\ % %s %2F _ {a} $1 ?1 :x @@ ; "
      "-- "
      "/* */ `b`\r\n\t\x01\x7f \xef\xbb\xbf\xef\xbf\xbf  ";
  std::uint64_t version = 0;
  std::string longest;
  while (longest.size() + odd.size() <= MutexRecords::most_bytes) longest += odd;
  longest.append(MutexRecords::most_bytes - longest.size(), '\'');
  const std::string widest(MutexRecords::most_bytes, '\x01');
  for (const std::string& text :
       {odd, longest, widest, std::string{" "}, std::string{"\n"}, std::string{"null"},
        std::string{"[1]"}, std::string{"007"}, std::string{"x "}}) {
    EXPECT_EQ(records.write({.mutex = mutex, .text = text, .replaces = version++}).outcome,
              Outcome::written);
    others.expect(mutex, version, text);
  }
}

void texts_and_names_that_no_store_can_keep_are_refused(Contract& contract) {
  const Records records{contract};
  const std::string mutex = contract.fresh_name();
  const auto refused = [&](const RecordResult& result, const std::string& part = {}) {
    const auto* error = std::get_if<Error>(&result);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->kind(), ErrorKind::invalid_argument) << error->what();
    EXPECT_NE(std::string{error->what()}.find(part), std::string::npos) << error->what();
  };
  const std::string too_large(MutexRecords::most_bytes + 1, 'x');
  refused(records.try_write({.mutex = mutex, .text = too_large, .replaces = 0}), "32768");
  for (const std::string& text : {std::string{"a\0b", 3}, std::string{"\xff\xfe"},
                                  std::string{"a\xc3"}, std::string{"\xed\xa0\x80"}}) {
    refused(records.try_write({.mutex = mutex, .text = text, .replaces = 0}), "UTF-8");
  }
  records.expect(mutex, 0, "");
  const std::string too_long(contract.store().name_limits.mutex + 1, 'x');
  for (const std::string& name :
       {std::string{}, std::string{" "}, std::string{"a\0b", 3}, std::string{"\xff"}, too_long}) {
    refused(records.try_read(name));
    refused(records.try_write({.mutex = name, .text = "x", .replaces = 0}));
  }
  refused(records.try_write({.mutex = mutex,
                             .text = "x",
                             .replaces = 0,
                             .owner = RecordOwner{.contender_id = "", .fencing_token = 1}}));
}

/// Each gets a record of its own.
void expect_apart(Contract& contract, const std::vector<std::string>& names) {
  const Records records{contract};
  for (const std::string& name : names) {
    SCOPED_TRACE("mutex name [" + name + "]");
    EXPECT_EQ(records.write({.mutex = name, .text = "record of " + name, .replaces = 0}).outcome,
              Outcome::written);
  }
  const Records others{contract};
  for (const std::string& name : names) {
    SCOPED_TRACE("mutex name [" + name + "]");
    others.expect(name, 1, "record of " + name);
  }
}

void each_mutex_has_a_record_of_its_own_whatever_its_name(Contract& contract) {
  const std::string name = contract.fresh_name();
  std::vector<std::string> names{name};
  for (const char* part : {":record", "-record", "/record", "{a}{b}", "'; --", "\"", "`", "%",
                           "%2F", "\\", "*", "J\u00fcrgen \u6f22\u5b57 \U0001F981", "$(x)", "@@"}) {
    const std::string odd = name + part;
    const bool has_slash = odd.find('/') != std::string::npos;
    if (has_slash && !contract.has(Capability::slashes_in_names)) continue;
    const auto& refuses = contract.store().refuses_mutex;
    if (!refuses || !refuses(odd)) names.push_back(odd);
  }
  const std::string longest(contract.store().name_limits.mutex - name.size(), 'x');
  names.push_back(name + longest);
  names.push_back(name + longest.substr(1) + "y");
  expect_apart(contract, names);
}

void names_that_differ_in_case_accent_or_trailing_space_have_records_of_their_own(
    Contract& contract) {
  const std::string name = contract.fresh_name();
  std::vector<std::string> names;
  for (const char* tail : {"e", "E", "\u00e9", "e\u0301", "e ", " e", "e  "}) {
    names.push_back(name + tail);
  }
  expect_apart(contract, names);
}

/// The case, on a store that keeps records.
template <void (*body)(Contract&)>
void if_kept(Contract& contract) {
  if (contract.factory()->records() == nullptr) {
    GTEST_SKIP() << "the store " << contract.store().name << " keeps no records";
  }
  body(contract);
}

}  // namespace

ContractCases record_cases() {
  return {
      {"ARecordThatNobodyHasWrittenIsEmpty", if_kept<a_record_that_nobody_has_written_is_empty>},
      {"ARecordIsReadByAllAsItWasWrittenLast",
       if_kept<a_record_is_read_by_all_as_it_was_written_last>},
      {"AWriteThatReplacesAnotherVersionChangesNothingAndAnswersWhatIsThere",
       if_kept<a_write_that_replaces_another_version_changes_nothing_and_answers_what_is_there>},
      {"OfTwoThatReplaceTheSameVersionOneWins",
       if_kept<of_two_that_replace_the_same_version_one_wins>},
      {"ConcurrentIncrementsOfARecordLoseNone", if_kept<concurrent_increments_lose_none>},
      {"ARecordSurvivesReleasesNewOwnersAndAllItsClients",
       if_kept<a_record_survives_releases_new_owners_and_all_its_clients>},
      {"ARecordMakesNobodyOwnItsMutexAndEndsNoOwnership",
       if_kept<a_record_makes_nobody_own_its_mutex_and_ends_no_ownership>},
      {"AWriteOfOneWhoIsNotTheOwnerIsRefused",
       if_kept<a_write_of_one_who_is_not_the_owner_is_refused>},
      {"AFormerOwnerCannotWriteARecordAndItsSuccessorCan",
       if_kept<a_former_owner_cannot_write_and_its_successor_can>},
      {"AnOwnerCannotWriteUnderTheTokenOfItsOwnershipBefore",
       if_kept<an_owner_cannot_write_under_the_token_of_its_ownership_before>},
      {"AnOwnerMayWriteUnderItsFirstTokenHoweverOftenItHasRenewed",
       if_kept<an_owner_may_write_under_its_first_token_however_often_it_has_renewed>,
       {Capability::lease_store}},
      {"AnOwnerMayWriteUnderItsFirstTokenAlsoIfItWasGrantedAgain",
       if_kept<an_owner_may_write_under_its_first_token_also_if_it_was_granted_again>,
       {Capability::lease_store}},
      {"AnOwnerWhoseLeaseIsOverCannotWriteARecord",
       if_kept<an_owner_whose_lease_is_over_cannot_write>,
       {Capability::lease_store, Capability::timed_leases}},
      {"WithoutTheConditionAnybodyMayWriteARecord",
       if_kept<without_the_condition_anybody_may_write>},
      {"AWriteIsRefusedBeforeItsTimeAndToldWhatTimeItIs",
       if_kept<a_write_is_refused_before_its_time_and_told_what_time_it_is>},
      {"ARefusalTellsOfOwnershipBeforeVersionBeforeTime",
       if_kept<a_refusal_tells_of_ownership_before_version_before_time>},
      {"AnyTextUpToTheLimitComesBackUnchanged",
       if_kept<any_text_up_to_the_limit_comes_back_unchanged>},
      {"TextsAndNamesThatNoStoreCanKeepAreRefused",
       if_kept<texts_and_names_that_no_store_can_keep_are_refused>},
      {"EachMutexHasARecordOfItsOwnWhateverItsName",
       if_kept<each_mutex_has_a_record_of_its_own_whatever_its_name>},
      {"NamesThatDifferInCaseAccentOrTrailingSpaceHaveRecordsOfTheirOwn",
       if_kept<names_that_differ_in_case_accent_or_trailing_space_have_records_of_their_own>,
       {Capability::exact_names}},
  };
}

}  // namespace simba::testkit::detail
