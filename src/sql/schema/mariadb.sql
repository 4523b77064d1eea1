-- The table of Simba on MariaDB, as the JVM library has it. Times are milliseconds since the Unix epoch.
-- The collation keeps names apart that differ in case or accent.
CREATE TABLE IF NOT EXISTS simba_mutex (
  mutex         varchar(66)     NOT NULL,
  acquired_at   bigint unsigned NOT NULL DEFAULT 0,
  ttl_at        bigint unsigned NOT NULL DEFAULT 0,
  transition_at bigint unsigned NOT NULL DEFAULT 0,
  owner_id      varchar(128)    NOT NULL DEFAULT '',
  version       int unsigned    NOT NULL DEFAULT 0,
  PRIMARY KEY (mutex)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

-- The records that Simba for C++ keeps beside mutexes, such as which run of a schedule was the last.
-- Names as bytes, in UTF-8, are kept apart whatever the collation.
CREATE TABLE IF NOT EXISTS simba_record (
  mutex   varbinary(264)  NOT NULL,
  version bigint unsigned NOT NULL,
  content mediumtext      NOT NULL,
  PRIMARY KEY (mutex)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
