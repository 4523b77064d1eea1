-- The table of Simba on PostgreSQL. Times are milliseconds since the Unix epoch.
CREATE TABLE IF NOT EXISTS simba_mutex (
  mutex         varchar(66)  NOT NULL PRIMARY KEY,
  acquired_at   bigint       NOT NULL DEFAULT 0,
  ttl_at        bigint       NOT NULL DEFAULT 0,
  transition_at bigint       NOT NULL DEFAULT 0,
  owner_id      varchar(128) NOT NULL DEFAULT '',
  version       bigint       NOT NULL DEFAULT 0
);
