#include "mysql/statements.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace simba::mysql::statements {
namespace {

using sql::Ask;
using sql::Change;
using std::chrono::milliseconds;

constexpr std::string_view now =
    "(TIMESTAMPDIFF(MICROSECOND,'1970-01-01 00:00:00',UTC_TIMESTAMP(3)) DIV 1000)";
constexpr std::string_view mutex_bytes = "CAST(CONVERT(mutex USING utf8mb4) AS BINARY)";
constexpr std::string_view owner_bytes = "CAST(CONVERT(owner_id USING utf8mb4) AS BINARY)";

// Through the key alone: a scan of the table would wait for the locks of other rows.
constexpr std::string_view update = "UPDATE simba_mutex FORCE INDEX (PRIMARY) SET ";

using Text = fmt::memory_buffer;

void add(Text& text, std::string_view part) { text.append(part); }

template <typename... Args>
void add(Text& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

/// As bytes: x'…'.
void add_bytes(Text& text, std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  add(text, "x'");
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 0xFU]);
  }
  text.push_back('\'');
}

void add_string(Text& text, std::string_view value) {
  add(text, "_utf8mb4 ");
  add_bytes(text, value);
}

/// "(a,b,c)", each written by `add_one`.
template <typename Items, typename AddOne>
void add_list(Text& text, const Items& items, AddOne add_one) {
  char before = '(';
  for (const auto& item : items) {
    text.push_back(before);
    add_one(item);
    before = ',';
  }
  text.push_back(')');
}

const std::string& name_of(const Ask& ask) { return ask.mutex; }
const std::string& name_of(const std::string& mutex) { return mutex; }

/// The rows by their key. Rows whose names the collation takes for these are among them.
template <typename Items>
void add_where(Text& text, const Items& items) {
  add(text, " WHERE mutex IN ");
  add_list(text, items, [&](const auto& item) { add_string(text, name_of(item)); });
}

/// The rows whose name is exactly asked for.
void add_exact_names(Text& text, std::span<const Ask> asks) {
  add(text, " AND {} IN ", mutex_bytes);
  add_list(text, asks, [&](const Ask& ask) { add_bytes(text, ask.mutex); });
}

/// The rows that those who ask own.
void add_owned(Text& text, std::span<const Ask> asks) {
  add(text, "({},{}) IN ", mutex_bytes, owner_bytes);
  add_list(text, asks, [&](const Ask& ask) {
    text.push_back('(');
    add_bytes(text, ask.mutex);
    text.push_back(',');
    add_bytes(text, ask.contender_id);
    text.push_back(')');
  });
}

/// The value for each mutex, which `add_one` writes.
template <typename AddOne>
void add_by_mutex(Text& text, std::span<const Ask> asks, AddOne add_one) {
  if (asks.size() == 1) {
    add_one(asks.front());
    return;
  }
  add(text, "CASE {}", mutex_bytes);
  for (const Ask& ask : asks) {
    add(text, " WHEN ");
    add_bytes(text, ask.mutex);
    add(text, " THEN ");
    add_one(ask);
  }
  add(text, " END");
}

/// `column` becomes now + span, unless it is later already.
void add_later(Text& text, std::string_view column, milliseconds span) {
  add(text, "{0}=GREATEST({0},{1}+{2}),", column, now, span.count());
}

/// No column is computed from another, so the order of assignment does not matter.
void add_lease(Text& text, std::span<const Ask> asks) {
  const milliseconds ttl = asks.front().ttl;
  add(text, update);
  add(text, "acquired_at={},", now);
  add_later(text, "ttl_at", ttl);
  add_later(text, "transition_at", ttl + asks.front().transition);
  add(text, "owner_id=");
  add_by_mutex(text, asks, [&](const Ask& ask) { add_string(text, ask.contender_id); });
  add(text, ",version=version+1");
  add_where(text, asks);
}

/// The rows under the versions that the asks name; `comparison` is '=' or "<=".
void add_version(Text& text, std::span<const Ask> asks, std::string_view comparison) {
  if (std::none_of(asks.begin(), asks.end(), [](const Ask& ask) { return ask.version; })) return;
  add(text, " AND version{}", comparison);
  add_by_mutex(text, asks, [&](const Ask& ask) {
    if (ask.version) {
      add(text, "{}", *ask.version);
    } else {
      add(text, "version");
    }
  });
}

void add_acquire(Text& text, std::span<const Ask> asks) {
  add_lease(text, asks);
  add_exact_names(text, asks);
  add(text, " AND (transition_at<{} OR (", now);
  add_owned(text, asks);
  add_version(text, asks, "=");
  add(text, "));");
}

void add_guard(Text& text, std::span<const Ask> asks) {
  add_lease(text, asks);
  add(text, " AND transition_at>={} AND ", now);
  add_owned(text, asks);
  add_version(text, asks, "<=");
  add(text, ";");
}

void add_release(Text& text, std::span<const Ask> asks) {
  add(text, update);
  add(text, "acquired_at=0,ttl_at=0,transition_at=0,owner_id='',version=version+1");
  add_where(text, asks);
  add(text, " AND ");
  add_owned(text, asks);
  add_version(text, asks, "=");
  add(text, ";");
}

void add_change(Text& text, Change change, std::span<const Ask> asks) {
  switch (change) {
    case Change::acquire:
      return add_acquire(text, asks);
    case Change::guard:
      return add_guard(text, asks);
    case Change::release:
      return add_release(text, asks);
  }
}

void add_columns(Text& text) {
  add(text, "SELECT mutex,owner_id,acquired_at,ttl_at,transition_at,version,{}", now);
}

template <typename Items>
void add_look(Text& text, const Items& items) {
  add_columns(text);
  add(text, " FROM simba_mutex FORCE INDEX (PRIMARY)");
  add_where(text, items);
}

/// Not INSERT IGNORE, which would cut a name that does not fit.
template <typename Items>
void add_insert(Text& text, const Items& items) {
  add(text,
      "INSERT INTO simba_mutex (mutex,acquired_at,ttl_at,transition_at,owner_id,version) VALUES ");
  char before = ' ';
  for (const auto& item : items) {
    text.push_back(before);
    text.push_back('(');
    add_string(text, name_of(item));
    add(text, ",0,0,0,'',0)");
    before = ',';
  }
  add(text, " ON DUPLICATE KEY UPDATE version=version;");
}

/// What must hold besides the version. A locking read, so that the owner stays the owner until the
/// record is committed, whatever the isolation level.
void add_conditions(Text& text, const sql::RecordAsk& ask) {
  if (ask.not_before) add(text, " AND {}>={}", now, ask.not_before->time_since_epoch().count());
  if (!ask.owner) return;
  add(text, " AND EXISTS (SELECT 1 FROM simba_mutex FORCE INDEX (PRIMARY) WHERE mutex=");
  add_string(text, ask.mutex);
  add(text, " AND {}=", mutex_bytes);
  add_bytes(text, ask.mutex);
  add(text, " AND {}=", owner_bytes);
  add_bytes(text, ask.owner->contender_id);
  add(text, " AND transition_at>={} AND version>={} AND version<={} LOCK IN SHARE MODE)", now,
      ask.owner->least, ask.owner->greatest);
}

}  // namespace

bool looks_first(Change change, std::span<const Ask> asks) noexcept {
  return change != Change::release && asks.size() > 1;
}

std::chrono::seconds lock_wait(milliseconds statement_timeout) noexcept {
  return std::max(std::chrono::seconds{1},
                  std::chrono::floor<std::chrono::seconds>(statement_timeout / 2));
}

std::string set_up(bool mariadb, bool repeatable_read, milliseconds statement_timeout) {
  std::string text = fmt::format(
      "SET NAMES utf8mb4;"
      "SET SESSION autocommit=1,sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
      "innodb_lock_wait_timeout={0},lock_wait_timeout={0};"
      "SET SESSION TRANSACTION ISOLATION LEVEL {1}",
      lock_wait(statement_timeout).count(), repeatable_read ? "REPEATABLE READ" : "READ COMMITTED");
  if (mariadb) {
    const auto most = std::max<std::int64_t>(1, statement_timeout.count() * 4 / 5);
    text +=
        fmt::format(";SET SESSION max_statement_time={}.{:03},in_predicate_conversion_threshold=0",
                    most / 1000, most % 1000);
  }
  return text;
}

std::string_view identity() noexcept {
  return "SHOW VARIABLES WHERE Variable_name IN ('hostname','port','server_id','server_uuid')";
}

std::string_view look_for_view() noexcept {
  return "SELECT table_type FROM information_schema.tables "
         "WHERE table_schema=DATABASE() AND table_name='simba_mutex' AND table_type='VIEW'";
}

std::string_view look_for_table() noexcept {
  return "SELECT mutex,owner_id,acquired_at,ttl_at,transition_at,version FROM simba_mutex LIMIT 0";
}

std::string change(Change change, std::span<const Ask> asks) {
  Text text;
  if (looks_first(change, asks)) {
    add(text, "DO 0;");
    add_look(text, asks);
    text.push_back(';');
  }
  add_change(text, change, asks);
  add_look(text, asks);
  return to_string(text);
}

std::string insert_and_acquire(std::span<const Ask> asks) {
  Text text;
  add_insert(text, asks);
  add_acquire(text, asks);
  add_look(text, asks);
  return to_string(text);
}

std::string init(const std::string& mutex) {
  Text text;
  const std::span<const std::string> one{&mutex, 1};
  add_insert(text, one);
  add_look(text, one);
  return to_string(text);
}

std::string look(std::span<const std::string> mutexes) {
  Text text;
  add_look(text, mutexes);
  return to_string(text);
}

std::string namesake(const std::string& mutex) {
  Text text;
  add(text, "SELECT mutex,COLLATION(mutex) FROM simba_mutex");
  add_where(text, std::span{&mutex, 1});
  return to_string(text);
}

std::string read_records(std::span<const std::string> mutexes) {
  Text text;
  add(text, "DO 0;SELECT {};SELECT mutex,version,content FROM simba_record WHERE mutex IN ", now);
  add_list(text, mutexes, [&](const std::string& mutex) { add_bytes(text, mutex); });
  return to_string(text);
}

std::string write_record(const sql::RecordAsk& ask) {
  Text text;
  if (ask.replaces == 0) {
    add(text, "INSERT INTO simba_record (mutex,version,content) SELECT ");
    add_bytes(text, ask.mutex);
    add(text, ",1,");
    add_string(text, ask.text);
    add(text, " FROM DUAL WHERE 1=1");
    add_conditions(text, ask);
    add(text, " ON DUPLICATE KEY UPDATE version=simba_record.version");
  } else {
    add(text, "UPDATE simba_record SET content=");
    add_string(text, ask.text);
    add(text, ",version=version+1 WHERE mutex=");
    add_bytes(text, ask.mutex);
    add(text, " AND version={}", ask.replaces);
    add_conditions(text, ask);
  }
  add(text,
      ";SELECT r.version,r.content,{} FROM (SELECT 1) one LEFT JOIN simba_record r ON r.mutex=",
      now);
  add_bytes(text, ask.mutex);
  text.push_back(';');
  add_look(text, std::span{&ask.mutex, 1});
  return to_string(text);
}

}  // namespace simba::mysql::statements
