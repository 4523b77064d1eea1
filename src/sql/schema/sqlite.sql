-- The table of Simba on SQLite. Times are milliseconds since the Unix epoch.
CREATE TABLE IF NOT EXISTS simba_mutex (
  mutex         TEXT    NOT NULL PRIMARY KEY,
  acquired_at   INTEGER NOT NULL DEFAULT 0,
  ttl_at        INTEGER NOT NULL DEFAULT 0,
  transition_at INTEGER NOT NULL DEFAULT 0,
  owner_id      TEXT    NOT NULL DEFAULT '',
  version       INTEGER NOT NULL DEFAULT 0,
  liveness      TEXT    NOT NULL DEFAULT ''  -- which byte of the file "-alive" the owner's process locks
) WITHOUT ROWID;

-- The clock that all processes of the host share: its time since boot, and what to add to that.
CREATE TABLE IF NOT EXISTS simba_clock (
  boot_id       TEXT    NOT NULL PRIMARY KEY,
  epoch_offset  INTEGER NOT NULL
) WITHOUT ROWID;

-- What is kept beside mutexes, such as which run of a schedule was the last.
CREATE TABLE IF NOT EXISTS simba_record (
  mutex         TEXT    NOT NULL PRIMARY KEY,
  version       INTEGER NOT NULL,
  content       TEXT    NOT NULL
);
