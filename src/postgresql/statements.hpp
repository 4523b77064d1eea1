#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

/// Every statement of the PostgreSQL store. Values go in as parameters, never into the text.
///
/// Functions, operators, types and collations are all of pg_catalog by name: whoever can create
/// something in a schema of the search path could otherwise offer a better match for the arguments,
/// which would run with our privileges. A `search_path` of the session would do the same, but a
/// pooler gives the session to others. (`unnest` of several arrays is grammar, as are `extract`,
/// `coalesce` and `greatest`.)
/// The table is named with its schema, `{table}` in the text: one that somebody makes later in a
/// schema that comes earlier in the search path is not used.
///
/// What the changes have in common:
/// - `clock` is evaluated once, before any row is locked or written. It takes the time and sets,
/// for
///   this transaction alone, how long a lock is waited for, and that a commit is on the disk before
///   it is answered where the server is set up otherwise. No state of the session is left behind.
/// - `seen` are the rows as the statement's snapshot has them. A row that does not fulfil the
///   condition there is answered as it was seen: it is neither locked nor written.
/// - `locked` locks the others in the order of names, so that two batches cannot block each other,
///   and checks the condition again for a row that it had to wait for. One that no longer fulfils
///   it is missing in the answer, and the caller looks again.
/// - A statement that waited for a lock has an old time. It never shortens the lease that a later
///   renewal of the same owner wrote, however old its time is. (Of another owner the lease is over,
///   so its times are smaller anyway.)
/// - A change of owner is told on channel simba_mutex, together with the commit.
/// - The columns of the answer: mutex, owner_id, acquired_at, ttl_at, transition_at, version, the
///   time, taken after the row was read, and, but for a release, whether the row was refused: it is
///   the contender's, but under another version than it may be changed under.
namespace simba::postgresql::statements {

/// $1 mutexes, $2 contender ids, $3 ttl, $4 transition, $5 lock timeout, $6 versions of rows that
/// are the contender's already (NULL: any); all times in ms.
inline constexpr const char* acquire = R"(
WITH clock AS MATERIALIZED (
  SELECT pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint AS now,
         pg_catalog.set_config('lock_timeout', $5::pg_catalog.text, true),
         CASE WHEN pg_catalog.current_setting('synchronous_commit')
                   OPERATOR(pg_catalog.=) ANY (ARRAY['off', 'local']::pg_catalog.text[])
              THEN pg_catalog.set_config('synchronous_commit', 'on', true) END
), asked AS MATERIALIZED (
  SELECT a.mutex, a.me, a.its_version, c.now, c.now OPERATOR(pg_catalog.+) $3::bigint AS ttl_at,
         c.now OPERATOR(pg_catalog.+) $3::bigint OPERATOR(pg_catalog.+) $4::bigint AS transition_at
  FROM clock c CROSS JOIN unnest($1::pg_catalog.text[], $2::pg_catalog.text[], $6::bigint[]) AS a(mutex, me, its_version)
), seen AS MATERIALIZED (
  SELECT a.mutex, a.me, a.its_version, a.now, a.ttl_at AS new_ttl_at,
         a.transition_at AS new_transition_at,
         m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version
  FROM asked a LEFT JOIN {table} m ON m.mutex OPERATOR(pg_catalog.=) a.mutex
), locked AS MATERIALIZED (
  SELECT a.*, m.owner_id AS owner_before
  FROM asked a JOIN {table} m ON m.mutex OPERATOR(pg_catalog.=) a.mutex
  WHERE m.transition_at OPERATOR(pg_catalog.<) a.now
     OR (m.owner_id OPERATOR(pg_catalog.=) a.me AND m.version OPERATOR(pg_catalog.=) coalesce(a.its_version, m.version))
  ORDER BY a.mutex COLLATE pg_catalog."C" FOR NO KEY UPDATE OF m
), granted AS (
  UPDATE {table} m SET
    acquired_at = greatest(m.acquired_at, l.now),
    ttl_at = greatest(m.ttl_at, l.ttl_at),
    transition_at = greatest(m.transition_at, l.transition_at),
    owner_id = l.me,
    version = m.version OPERATOR(pg_catalog.+) 1
  FROM locked l WHERE m.mutex OPERATOR(pg_catalog.=) l.mutex
  RETURNING m.mutex, m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version,
            m.owner_id OPERATOR(pg_catalog.<>) l.owner_before AS passed, false AS refused
), made AS (
  INSERT INTO {table} AS m (mutex, acquired_at, ttl_at, transition_at, owner_id, version)
  SELECT s.mutex, s.now, s.new_ttl_at, s.new_transition_at, s.me, 1
  FROM seen s WHERE s.owner_id IS NULL
  ORDER BY s.mutex COLLATE pg_catalog."C"
  ON CONFLICT DO NOTHING
  RETURNING m.mutex, m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version, true AS passed,
            false AS refused
), answer AS (
  SELECT * FROM granted
  UNION ALL
  SELECT * FROM made
  UNION ALL
  SELECT s.mutex, s.owner_id, s.acquired_at, s.ttl_at, s.transition_at, s.version, false,
         s.owner_id OPERATOR(pg_catalog.=) s.me
  FROM seen s WHERE NOT (s.transition_at OPERATOR(pg_catalog.<) s.now
                         OR (s.owner_id OPERATOR(pg_catalog.=) s.me AND s.version OPERATOR(pg_catalog.=) coalesce(s.its_version, s.version)))
)
SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version,
       pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint, refused,
       CASE WHEN passed THEN pg_catalog.pg_notify('simba_mutex', mutex)::pg_catalog.text END
FROM answer)";

/// $1 mutexes, $2 contender ids, $3 ttl, $4 transition, $5 lock timeout, $6 the greatest versions
/// (NULL: any); all times in ms.
inline constexpr const char* guard = R"(
WITH clock AS MATERIALIZED (
  SELECT pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint AS now,
         pg_catalog.set_config('lock_timeout', $5::pg_catalog.text, true),
         CASE WHEN pg_catalog.current_setting('synchronous_commit')
                   OPERATOR(pg_catalog.=) ANY (ARRAY['off', 'local']::pg_catalog.text[])
              THEN pg_catalog.set_config('synchronous_commit', 'on', true) END
), asked AS MATERIALIZED (
  SELECT a.mutex, a.me, a.its_version, c.now, c.now OPERATOR(pg_catalog.+) $3::bigint AS ttl_at,
         c.now OPERATOR(pg_catalog.+) $3::bigint OPERATOR(pg_catalog.+) $4::bigint AS transition_at
  FROM clock c CROSS JOIN unnest($1::pg_catalog.text[], $2::pg_catalog.text[], $6::bigint[]) AS a(mutex, me, its_version)
), seen AS MATERIALIZED (
  SELECT m.mutex, m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version, a.me, a.now,
         m.owner_id OPERATOR(pg_catalog.=) a.me AND m.transition_at OPERATOR(pg_catalog.>=) a.now AS own,
         m.version OPERATOR(pg_catalog.<=) coalesce(a.its_version, m.version) AS in_bounds
  FROM asked a JOIN {table} m ON m.mutex OPERATOR(pg_catalog.=) a.mutex
), locked AS MATERIALIZED (
  SELECT a.*
  FROM asked a JOIN {table} m ON m.mutex OPERATOR(pg_catalog.=) a.mutex
  WHERE m.owner_id OPERATOR(pg_catalog.=) a.me AND m.transition_at OPERATOR(pg_catalog.>=) a.now
    AND m.version OPERATOR(pg_catalog.<=) coalesce(a.its_version, m.version)
  ORDER BY a.mutex COLLATE pg_catalog."C" FOR NO KEY UPDATE OF m
), granted AS (
  UPDATE {table} m SET
    acquired_at = greatest(m.acquired_at, l.now),
    ttl_at = greatest(m.ttl_at, l.ttl_at),
    transition_at = greatest(m.transition_at, l.transition_at),
    version = m.version OPERATOR(pg_catalog.+) 1
  FROM locked l WHERE m.mutex OPERATOR(pg_catalog.=) l.mutex
  RETURNING m.mutex, m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version,
            false AS refused
), answer AS (
  SELECT * FROM granted
  UNION ALL
  SELECT s.mutex, s.owner_id, s.acquired_at, s.ttl_at, s.transition_at, s.version, s.own
  FROM seen s WHERE NOT (s.own AND s.in_bounds)
)
SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version,
       pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint, refused
FROM answer)";

/// $1 mutexes, $2 contender ids, $3 versions (NULL: any), $4 lock timeout in ms.
inline constexpr const char* release = R"(
WITH clock AS MATERIALIZED (
  SELECT pg_catalog.set_config('lock_timeout', $4::pg_catalog.text, true),
         CASE WHEN pg_catalog.current_setting('synchronous_commit')
                   OPERATOR(pg_catalog.=) ANY (ARRAY['off', 'local']::pg_catalog.text[])
              THEN pg_catalog.set_config('synchronous_commit', 'on', true) END
), asked AS MATERIALIZED (
  SELECT a.mutex, a.me, a.version
  FROM clock c CROSS JOIN unnest($1::pg_catalog.text[], $2::pg_catalog.text[], $3::bigint[]) AS a(mutex, me, version)
), seen AS MATERIALIZED (
  SELECT m.mutex, m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version,
         m.owner_id OPERATOR(pg_catalog.=) a.me AND m.version OPERATOR(pg_catalog.=) coalesce(a.version, m.version) AS mine
  FROM asked a JOIN {table} m ON m.mutex OPERATOR(pg_catalog.=) a.mutex
), locked AS MATERIALIZED (
  SELECT a.mutex
  FROM asked a JOIN {table} m ON m.mutex OPERATOR(pg_catalog.=) a.mutex
  WHERE m.owner_id OPERATOR(pg_catalog.=) a.me AND m.version OPERATOR(pg_catalog.=) coalesce(a.version, m.version)
  ORDER BY a.mutex COLLATE pg_catalog."C" FOR NO KEY UPDATE OF m
), released AS (
  UPDATE {table} m SET
    acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = '', version = m.version OPERATOR(pg_catalog.+) 1
  FROM locked l WHERE m.mutex OPERATOR(pg_catalog.=) l.mutex
  RETURNING m.mutex, m.owner_id, m.acquired_at, m.ttl_at, m.transition_at, m.version, true AS passed
), answer AS (
  SELECT * FROM released
  UNION ALL
  SELECT s.mutex, s.owner_id, s.acquired_at, s.ttl_at, s.transition_at, s.version, false
  FROM seen s WHERE NOT s.mine
)
SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version,
       pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint,
       CASE WHEN passed THEN pg_catalog.pg_notify('simba_mutex', mutex)::pg_catalog.text END
FROM answer)";

/// $1 mutexes.
inline constexpr const char* look = R"(
SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version,
       pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint
FROM {table} WHERE mutex OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.text[]))";

/// $1 mutex, $2 lock timeout in ms. Answers with one row where it made one.
inline constexpr const char* init = R"(
WITH clock AS MATERIALIZED (
  SELECT pg_catalog.set_config('lock_timeout', $2::pg_catalog.text, true),
         CASE WHEN pg_catalog.current_setting('synchronous_commit')
                   OPERATOR(pg_catalog.=) ANY (ARRAY['off', 'local']::pg_catalog.text[])
              THEN pg_catalog.set_config('synchronous_commit', 'on', true) END
)
INSERT INTO {table} (mutex, acquired_at, ttl_at, transition_at, owner_id, version)
SELECT $1::pg_catalog.text, 0, 0, 0, '', 0 FROM clock
ON CONFLICT DO NOTHING
RETURNING mutex)";

/// $1 mutexes. Columns: mutex, version, content, the time; version 0 where there is none.
inline constexpr const char* read_records = R"(
SELECT a.mutex, coalesce(r.version, 0), coalesce(r.content, ''),
       pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
         OPERATOR(pg_catalog.*) 1000)::bigint
FROM pg_catalog.unnest($1::pg_catalog.text[]) AS a(mutex)
LEFT JOIN {record} r ON r.mutex OPERATOR(pg_catalog.=) a.mutex)";

/// $1 mutex, $2 content, $3 the version to replace, $4 not before this time (NULL: at once), $5 the
/// owner's contender id (NULL: anybody), under a version from $6 to $7, $8 lock timeout; times in
/// ms. The record is locked before the row of the mutex, so that whoever waits for a record holds
/// up no owner. Both stay locked until the commit: an owner whose lease ends meanwhile is not
/// succeeded before. The time is taken with both locked.
/// Columns: the outcome, whether it was written, version and content as they were found, the time.
/// `written` without being so: someone else has made the record at the same moment.
inline constexpr const char* write_record = R"(
WITH clock AS MATERIALIZED (
  SELECT pg_catalog.set_config('lock_timeout', $8::pg_catalog.text, true),
         CASE WHEN pg_catalog.current_setting('synchronous_commit')
                   OPERATOR(pg_catalog.=) ANY (ARRAY['off', 'local']::pg_catalog.text[])
              THEN pg_catalog.set_config('synchronous_commit', 'on', true) END
), found AS MATERIALIZED (
  SELECT r.version, r.content
  FROM clock CROSS JOIN {record} r
  WHERE r.mutex OPERATOR(pg_catalog.=) $1::pg_catalog.text
  FOR NO KEY UPDATE OF r
), owner AS MATERIALIZED (
  SELECT m.owner_id, m.version, m.transition_at
  FROM (SELECT pg_catalog.count(*) FROM found) AS locked CROSS JOIN {table} m
  WHERE m.mutex OPERATOR(pg_catalog.=) $1::pg_catalog.text AND $5::pg_catalog.text IS NOT NULL
  FOR SHARE OF m
), moment AS MATERIALIZED (
  SELECT pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())
           OPERATOR(pg_catalog.*) 1000)::bigint AS now
  FROM (SELECT pg_catalog.count(*) FROM owner) AS locked
), verdict AS MATERIALIZED (
  SELECT n.now, CASE
    WHEN $5::pg_catalog.text IS NOT NULL AND NOT EXISTS (
      SELECT FROM owner o
      WHERE o.owner_id OPERATOR(pg_catalog.=) $5::pg_catalog.text
        AND o.transition_at OPERATOR(pg_catalog.>=) n.now
        AND o.version OPERATOR(pg_catalog.>=) $6::bigint
        AND o.version OPERATOR(pg_catalog.<=) $7::bigint) THEN 'not_owned'
    WHEN coalesce((SELECT f.version FROM found f), 0) OPERATOR(pg_catalog.<>) $3::bigint THEN 'changed'
    WHEN n.now OPERATOR(pg_catalog.<) $4::bigint THEN 'too_early'
    ELSE 'written' END AS outcome
  FROM moment n
), written AS (
  INSERT INTO {record} AS r (mutex, version, content)
  SELECT $1::pg_catalog.text, $3::bigint OPERATOR(pg_catalog.+) 1, $2::pg_catalog.text
  FROM verdict v WHERE v.outcome OPERATOR(pg_catalog.=) 'written'
  ON CONFLICT (mutex) DO UPDATE SET version = excluded.version, content = excluded.content
  WHERE r.version OPERATOR(pg_catalog.=) $3::bigint
  RETURNING r.version
)
SELECT v.outcome, EXISTS (SELECT FROM written), coalesce(f.version, 0), coalesce(f.content, ''), v.now
FROM verdict v LEFT JOIN found f ON true)";

/// Lets the server look each second, while it works, whether the client is still there.
inline constexpr const char* notice_our_end = "SET client_connection_check_interval = '1s'";

/// The tables called `{name}` in the search path, first those of the schemas that come first. Of
/// each its owner, whether the owner is trusted with this user's privileges anyway (this user, a
/// superuser, the owner of the database; not a role that this user is merely a member of, since
/// whoever has a role can make others its members), whether there is something on the table that
/// could run code of the owner with them, its schema, quoted, and whether its owner is not trusted
/// while that of another of these tables is. (Temporary tables do not count.) Foreign keys of this
/// table and to it, deferrable constraints and constraint triggers are all triggers. Constraints
/// other than these may be its primary key, unique, or (as of 18) NOT NULL. The expressions of
/// extended statistics are evaluated when a statement is planned, those of a generated column
/// whenever a row is written.
inline constexpr const char* find_tables_called = R"(
SELECT r.rolname, o.trusted,
       c.relkind OPERATOR(pg_catalog.<>) 'r' OR c.relhasrules OR c.relrowsecurity
         OR c.relhassubclass OR c.relispartition
         OR EXISTS (SELECT FROM pg_catalog.pg_trigger t
                    WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid)
         OR EXISTS (SELECT FROM pg_catalog.pg_constraint k
                    WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid
                      AND k.contype OPERATOR(pg_catalog.<>) ALL
                          (ARRAY['p', 'u', 'n']::pg_catalog."char"[]))
         OR EXISTS (SELECT FROM pg_catalog.pg_index i
                    WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid
                      AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))
         OR EXISTS (SELECT FROM pg_catalog.pg_statistic_ext x
                    WHERE x.stxrelid OPERATOR(pg_catalog.=) c.oid)
         OR EXISTS (SELECT FROM pg_catalog.pg_attribute a
                    JOIN pg_catalog.pg_type y ON y.oid OPERATOR(pg_catalog.=) a.atttypid
                    WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
                      AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
                      AND (y.typnamespace OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace
                           OR a.attgenerated OPERATOR(pg_catalog.<>) ''::pg_catalog."char"
                           OR (a.atthasdef AND NOT (a.attname OPERATOR(pg_catalog.=) ANY
                               (ARRAY['mutex', 'acquired_at', 'ttl_at', 'transition_at', 'owner_id',
                                      'version', 'content']::pg_catalog.name[]))))),
       pg_catalog.quote_ident(n.nspname),
       NOT o.trusted AND pg_catalog.bool_or(o.trusted) OVER ()
FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY AS s(name, place)
JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) s.name
JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid
                          AND c.relname OPERATOR(pg_catalog.=) '{name}'
JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) c.relowner
JOIN pg_catalog.pg_database d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
CROSS JOIN LATERAL (
  SELECT r.rolname OPERATOR(pg_catalog.=) current_user OR r.rolsuper
         OR r.oid OPERATOR(pg_catalog.=) d.datdba AS trusted) o
ORDER BY s.place)";

inline std::string find_tables(std::string_view name = "simba_mutex") {
  return fmt::format(fmt::runtime(find_tables_called), fmt::arg("name", name));
}

/// The qualified name of the table in a schema, as `find_tables` has it.
inline std::string table_in(std::string_view quoted_schema) {
  return fmt::format("{}.simba_mutex", quoted_schema);
}

inline std::string record_table_in(std::string_view quoted_schema) {
  return fmt::format("{}.simba_record", quoted_schema);
}

/// The statement on the table of this qualified name, and on that of records beside it.
inline std::string on_table(const char* statement, const std::string& table,
                            const std::string& record_table = {}) {
  return fmt::format(fmt::runtime(statement), fmt::arg("table", table),
                     fmt::arg("record", record_table));
}

inline constexpr const char* listen = "LISTEN simba_mutex";

}  // namespace simba::postgresql::statements
