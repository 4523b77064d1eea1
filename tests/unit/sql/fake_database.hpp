#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simba/core/error.hpp"
#include "sql/database.hpp"

namespace simba::sql {

/// A database whose answers a test gives. It counts what it is asked.
class FakeDatabase final : public Database {
 public:
  using OnChange = std::function<std::vector<Row>(Change, std::span<const Ask>)>;

  /// Grants everything.
  static std::vector<Row> grant(Change /*change*/, std::span<const Ask> asks) {
    std::vector<Row> rows;
    for (const Ask& ask : asks) {
      rows.push_back({.mutex = ask.mutex,
                      .owner_id = ask.contender_id,
                      .transition_at = 1,
                      .version = 1,
                      .now = 0});
    }
    return rows;
  }

  std::string_view name() const noexcept override { return "fake"; }

  std::unique_ptr<Session> connect(LocalTime /*deadline*/, const Wakeup& closing) override {
    ++connects;
    if (on_connect) on_connect();
    return std::make_unique<FakeSession>(*this, closing);
  }

  std::unique_ptr<ChangeFeed> make_feed() override { return std::make_unique<FakeFeed>(); }

  /// The number of asks of each statement, in order.
  std::vector<std::size_t> statements() const {
    const std::lock_guard lock{mutex_};
    return statements_;
  }

  // set before use
  std::function<void()> on_connect{};
  OnChange on_change = &FakeDatabase::grant;
  std::function<void(const Wakeup& closing, std::span<const Ask> asks)> before_change{};

  std::function<void(std::span<const std::string> mutexes)> on_look{};
  std::function<RecordAnswer(const RecordAsk&)> on_write = [](const RecordAsk& ask) {
    return RecordAnswer{.outcome = RecordAnswer::Outcome::written,
                        .record = {.text = ask.text, .version = ask.replaces + 1}};
  };
  std::string owner_of_all{};

  std::atomic<int> connects{0};
  std::atomic<int> looks{0};
  std::atomic<bool> broken{false};

 private:
  class FakeSession final : public Session {
   public:
    FakeSession(FakeDatabase& database, const Wakeup& closing)
        : database_{database}, closing_{closing} {}

    std::vector<Row> change(Change change, std::span<const Ask> asks,
                            LocalTime /*deadline*/) override {
      {
        const std::lock_guard lock{database_.mutex_};
        database_.statements_.push_back(asks.size());
      }
      if (database_.before_change) database_.before_change(closing_, asks);
      return database_.on_change(change, asks);
    }
    std::vector<Row> look(std::span<const std::string> mutexes, LocalTime /*deadline*/) override {
      ++database_.looks;
      if (database_.on_look) database_.on_look(mutexes);
      std::vector<Row> rows;
      for (const std::string& mutex : mutexes) {
        rows.push_back({.mutex = mutex, .owner_id = database_.owner_of_all});
      }
      return rows;
    }
    bool init(const std::string& /*mutex*/, LocalTime /*deadline*/) override { return true; }
    std::vector<FoundRecord> read_records(std::span<const std::string> mutexes,
                                          LocalTime /*deadline*/) override {
      {
        const std::lock_guard lock{database_.mutex_};
        database_.statements_.push_back(mutexes.size());
      }
      std::vector<FoundRecord> records;
      for (const std::string& mutex : mutexes) {
        records.push_back({mutex, {.text = "of " + mutex, .version = 1}});
      }
      return records;
    }
    RecordAnswer write_record(const RecordAsk& ask, LocalTime /*deadline*/) override {
      return database_.on_write(ask);
    }
    bool usable() noexcept override { return !database_.broken.exchange(false); }

   private:
    FakeDatabase& database_;
    const Wakeup& closing_;
  };

  class FakeFeed final : public ChangeFeed {
   public:
    Hint wait(const std::vector<std::string>& /*waited_for*/, LocalTime until,
              const Wakeup& wakeup) noexcept override {
      wait_for(wakeup, until);
      return {};
    }
  };

  mutable std::mutex mutex_;
  std::vector<std::size_t> statements_;  // guarded by mutex_
};

}  // namespace simba::sql
