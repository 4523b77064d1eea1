#include "sql/admin/sql_admin.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/listing_budget.hpp"
#include "core/text.hpp"
#include "core/unreadable_mutexes.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"
#include "sql/rows.hpp"
#include "sql/sql_plan.hpp"

namespace simba::sql {
namespace {

using engine::Finding;
using engine::MutexEntry;

constexpr std::size_t longest_finding = 2'000;

/// How many rows are asked for at a time.
constexpr std::size_t batch_size = 500;

/// How often an eviction follows owners that change meanwhile.
constexpr int most_tries = 20;

MutexEntry entry_of(const Row& row) {
  const engine::LeaseRecord record = record_of(row);
  return {.mutex = row.mutex,
          .owner_id = record.owner_id,
          .acquired_at = record.lease.acquired_at,
          .fencing_token = record.fencing_token,
          .left = record.transition_left};
}

MutexEntry unknown(const std::string& mutex) {
  return {.mutex = mutex, .left = std::chrono::milliseconds::zero()};
}

class SqlAdmin final : public engine::StoreAdmin {
 public:
  SqlAdmin(std::unique_ptr<TableInspector> inspector, DatabaseWith database, Schema schema,
           const SqlPlan& plan, std::shared_ptr<Logger> log)
      : inspector_{std::move(inspector)},
        database_with_{std::move(database)},
        database_{database_with_(Schema::expect)},
        schema_{schema},
        plan_{plan},
        unreadable_{std::move(log)} {}

  void check_exists() override { inspector_->check_exists(); }

  std::vector<MutexEntry> list() override {
    if (connected() == nullptr) return {};
    detail::ListingBudget budget{std::string{database_->name()}};
    std::vector<std::string> names;
    inspector_->read_names([&](std::string name) {
      budget.spend(name);
      names.push_back(std::move(name));
    });
    std::vector<MutexEntry> entries;
    entries.reserve(names.size());
    for (std::span<const std::string> rest{names}; !rest.empty();) {
      const auto batch = rest.first(std::min(rest.size(), batch_size));
      const std::size_t before = entries.size();
      try {
        add(batch, entries);
      } catch (const Error& error) {
        if (!detail::UnreadableMutexes::concerns_one(error)) throw;
        // What fails for a mutex that nobody has is not the fault of one row.
        if (!look_at_nobodys()) return {};
        add_one_by_one(batch, entries);
      }
      for (const auto& entry : std::span{entries}.subspan(before)) budget.spend(entry.owner_id);
      rest = rest.subspan(batch.size());
    }
    std::sort(entries.begin(), entries.end(),
              [](const MutexEntry& a, const MutexEntry& b) { return a.mutex < b.mutex; });
    return entries;
  }

  MutexEntry find(const std::string& mutex) override {
    check_name("mutex name", mutex, NameLimits{}.mutex);
    Session* const session = connected();
    return session == nullptr ? unknown(mutex) : look(*session, mutex);
  }

  MutexEntry evict(const std::string& mutex) override {
    check_name("mutex name", mutex, NameLimits{}.mutex);
    Session* const session = connected();
    if (session == nullptr) return unknown(mutex);
    for (int tries = 0; tries < most_tries; ++tries) {
      MutexEntry before = look(*session, mutex);
      if (before.owner_id.empty() || release(*session, before)) return before;
    }
    throw Error{ErrorKind::unavailable,
                fmt::format("{}: owner of mutex \"{}\" keeps changing; try again",
                            database_->name(), mutex)};
  }

  std::string init() override {
    const bool has_table = inspector_->has_table();
    if (has_table && !trouble_with_records()) return "table simba_mutex already exists";
    session_.reset();
    const auto session =
        database_with_(Schema::create)
            ->connect(in(plan_.connect_timeout + plan_.statement_timeout), never_raised_);
    session->read_records(nobodys(), in(plan_.statement_timeout));
    return has_table ? "created table simba_record" : "created table simba_mutex";
  }

  engine::StoreReport examine() override {
    engine::StoreReport report = inspector_->examine();
    if (has_problem(report.findings)) return report;
    // Whatever else the store itself stumbles over.
    try {
      if (!look_at_nobodys()) return report;
    } catch (const Error& error) {
      report.findings.push_back(problem(error));
      return report;
    }
    if (const auto trouble = trouble_with_records()) {
      report.findings.push_back(
          note(fmt::format("needed by schedules with shared slots alone: {}", trouble->what())));
    }
    return report;
  }

 private:
  static LocalTime in(std::chrono::milliseconds span) { return real_now() + span; }

  /// A session; null where the table is not there and may be made later.
  Session* connected() {
    if (session_ && session_->usable()) return session_.get();
    session_.reset();
    if (schema_ == Schema::create && !inspector_->has_table()) return nullptr;
    session_ = database_->connect(in(plan_.connect_timeout), never_raised_);
    return session_.get();
  }

  /// A name that fits its column, and that no mutex has: it is blank.
  static std::array<std::string, 1> nobodys() { return {" "}; }

  /// What would keep the store from reading or writing records. Writes none: nobody owns the mutex.
  std::optional<Error> trouble_with_records() {
    try {
      if (Session* const session = connected(); session != nullptr) {
        session->write_record({.mutex = nobodys().front(),
                               .text = {},
                               .owner = RecordAsk::Owner{.contender_id = "nobody"}},
                              in(plan_.statement_timeout));
      }
      return std::nullopt;
    } catch (const Error& error) {
      return error;
    }
  }

  /// Looks at nobody's mutex. False: the table is not there.
  bool look_at_nobodys() {
    Session* const session = connected();
    if (session == nullptr) return false;
    session->look(nobodys(), in(plan_.statement_timeout));
    return true;
  }

  void add(std::span<const std::string> mutexes, std::vector<MutexEntry>& entries) {
    Session* const session = connected();
    if (session == nullptr) return;  // the table was dropped meanwhile
    for (const Row& row : session->look(mutexes, in(plan_.statement_timeout))) {
      entries.push_back(entry_of(row));
    }
  }

  /// A row that cannot be read fails all that are asked for with it.
  void add_one_by_one(std::span<const std::string> mutexes, std::vector<MutexEntry>& entries) {
    for (const std::string& mutex : mutexes) {
      try {
        add(std::span{&mutex, 1}, entries);
      } catch (const Error& error) {
        if (!detail::UnreadableMutexes::concerns_one(error)) throw;
        unreadable_.leave_out(mutex, error);
      }
    }
  }

  MutexEntry look(Session& session, const std::string& mutex) const {
    const std::vector<Row> rows = session.look(std::span{&mutex, 1}, in(plan_.statement_timeout));
    return rows.empty() ? unknown(mutex) : entry_of(rows.front());
  }

  /// As the owner would do it. False: someone else owns it meanwhile.
  bool release(Session& session, const MutexEntry& owned) const {
    const std::array<Ask, 1> asks{Ask{.mutex = owned.mutex, .contender_id = owned.owner_id}};
    const auto rows = session.change(Change::release, asks, in(plan_.statement_timeout));
    return rows.empty() || rows.front().owner_id.empty();
  }

  // constant after construction
  const std::unique_ptr<TableInspector> inspector_;
  const DatabaseWith database_with_;
  const std::shared_ptr<Database> database_;  // never makes the table
  const Schema schema_;
  const SqlPlan plan_;
  const Wakeup never_raised_{};

  std::unique_ptr<Session> session_{};
  detail::UnreadableMutexes unreadable_;
};

struct Requirement {
  std::string_view name;
  std::uint64_t least;
  std::string_view unit;
  Finding::Weight weight;  ///< where it is narrower
};

}  // namespace

std::unique_ptr<engine::StoreAdmin> make_sql_admin(std::unique_ptr<TableInspector> inspector,
                                                   DatabaseWith database, const SqlOptions& options,
                                                   const SqlDefaults& defaults,
                                                   std::shared_ptr<Logger> log) {
  return std::make_unique<SqlAdmin>(std::move(inspector), std::move(database), options.schema,
                                    SqlPlan{options, defaults}, std::move(log));
}

Finding note(std::string_view text) {
  return {.weight = Finding::Weight::note, .text = detail::excerpt(text, longest_finding)};
}
Finding warning(std::string_view text) {
  return {.weight = Finding::Weight::warning, .text = detail::excerpt(text, longest_finding)};
}
Finding problem(std::string_view text, ErrorKind kind) {
  return {.weight = Finding::Weight::problem,
          .text = detail::excerpt(text, longest_finding),
          .kind = kind};
}

std::optional<StoreTime> server_time(std::optional<std::int64_t> milliseconds) {
  constexpr std::int64_t end_of_year_9999 = 253'402'300'799'999;
  if (!milliseconds || *milliseconds < 0 || *milliseconds > end_of_year_9999) return std::nullopt;
  return StoreTime{std::chrono::milliseconds{*milliseconds}};
}
Finding problem(const Error& error) { return problem(error.what(), error.kind()); }

bool has_problem(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.weight == Finding::Weight::problem;
  });
}

std::vector<Finding> check_columns(const std::vector<TableColumn>& columns,
                                   std::uint64_t version_bits) {
  using Weight = Finding::Weight;
  constexpr std::uint64_t time_bits = 63;
  const std::array<Requirement, 6> requirements{{
      {"mutex", NameLimits{}.mutex, "characters", Weight::warning},
      {"acquired_at", time_bits, "bits", Weight::problem},
      {"ttl_at", time_bits, "bits", Weight::problem},
      {"transition_at", time_bits, "bits", Weight::problem},
      {"owner_id", NameLimits{}.contender_id, "characters", Weight::warning},
      {"version", version_bits, "bits", Weight::warning},
  }};
  std::vector<Finding> findings;
  for (const auto& [name, least, unit, weight] : requirements) {
    const auto found =
        std::find_if(columns.begin(), columns.end(),
                     [&wanted = name](const TableColumn& column) { return column.name == wanted; });
    if (found == columns.end()) {
      findings.push_back(problem(fmt::format(
          "table simba_mutex lacks column {}; it was not created by Simba, or by an older version",
          name)));
    } else if (found->most && *found->most < least) {
      findings.push_back(
          {weight, fmt::format("column {} of table simba_mutex must hold {} {} (is {}); "
                               "alter the column",
                               name, least, unit, detail::excerpt(found->type))});
    }
  }
  return findings;
}

}  // namespace simba::sql
