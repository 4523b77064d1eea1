#pragma once

/// The statements of the SQLite store. `?1` is the mutex in all of them.
namespace simba::sqlite::statements {

// ?2 contender, ?3 now, ?4 ttl_at, ?5 transition_at, ?6 mark of this process, ?7 the mark of an
// owner whose process is gone, or '', ?8 the version of a row of this contender, or NULL for any,
// ?9 the mark of another process that is alive, or ''
inline constexpr const char* acquire = R"(
INSERT INTO simba_mutex (mutex, owner_id, acquired_at, ttl_at, transition_at, version, liveness)
VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)
ON CONFLICT (mutex) DO UPDATE SET
  owner_id = excluded.owner_id, acquired_at = excluded.acquired_at, ttl_at = excluded.ttl_at,
  transition_at = excluded.transition_at, version = version + 1, liveness = excluded.liveness
WHERE transition_at < excluded.acquired_at
  OR (owner_id = excluded.owner_id AND (?8 IS NULL OR version = ?8) AND (liveness <> ?9 OR ?9 = ''))
  OR (liveness = ?7 AND ?7 <> '')
RETURNING mutex, owner_id, acquired_at, ttl_at, transition_at, version, liveness)";

// ?2 contender, ?3 now, ?4 ttl_at, ?5 transition_at, ?6 the greatest version, or NULL for any
inline constexpr const char* guard = R"(
UPDATE simba_mutex SET
  acquired_at = ?3, ttl_at = ?4, transition_at = ?5, version = version + 1
WHERE mutex = ?1 AND owner_id = ?2 AND transition_at >= ?3 AND (?6 IS NULL OR version <= ?6)
RETURNING mutex, owner_id, acquired_at, ttl_at, transition_at, version, liveness)";

// ?2 contender, ?3 the version, or NULL for any
inline constexpr const char* release = R"(
UPDATE simba_mutex SET
  owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, version = version + 1,
  liveness = ''
WHERE mutex = ?1 AND owner_id = ?2 AND (?3 IS NULL OR version = ?3)
RETURNING mutex, owner_id, acquired_at, ttl_at, transition_at, version, liveness)";

inline constexpr const char* look = R"(
SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version, liveness
FROM simba_mutex WHERE mutex = ?1)";

// ?1 the mutexes as an array of JSON
inline constexpr const char* look_at_many = R"(
SELECT mutex, owner_id, acquired_at, ttl_at, transition_at, version, liveness
FROM json_each(?1) JOIN simba_mutex ON mutex = value)";

inline constexpr const char* init =
    "INSERT INTO simba_mutex (mutex) VALUES (?1) ON CONFLICT DO NOTHING RETURNING mutex";

// The owners of an earlier boot are gone.
inline constexpr const char* owners = "SELECT liveness FROM simba_mutex WHERE owner_id <> ''";
inline constexpr const char* free_all = R"(
UPDATE simba_mutex SET
  owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, version = version + 1,
  liveness = ''
WHERE owner_id <> '')";

// ?1 boot id, ?2 offset
inline constexpr const char* clock = "SELECT epoch_offset FROM simba_clock WHERE boot_id = ?1";
inline constexpr const char* forget_clocks = "DELETE FROM simba_clock";
inline constexpr const char* set_clock =
    "INSERT INTO simba_clock (boot_id, epoch_offset) VALUES (?1, ?2)";

// A row if the table of records is there and ours.
inline constexpr const char* look_for_records = R"(
SELECT 1 WHERE 3 = (
  SELECT count(*) FROM pragma_table_info('simba_record')
  WHERE name IN ('version', 'content') OR (name = 'mutex' AND pk = 1)))";

// ?1 the mutexes as an array of JSON
inline constexpr const char* read_records = R"(
SELECT value, version, content FROM json_each(?1) LEFT JOIN simba_record ON mutex = value)";

// ?2 version, ?3 content
inline constexpr const char* write_record = R"(
INSERT INTO simba_record (mutex, version, content) VALUES (?1, ?2, ?3)
ON CONFLICT (mutex) DO UPDATE SET version = excluded.version, content = excluded.content)";

}  // namespace simba::sqlite::statements
