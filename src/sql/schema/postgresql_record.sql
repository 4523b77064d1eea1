-- The records that Simba for C++ keeps beside mutexes on PostgreSQL, such as which run of a schedule
-- was the last. In the same schema as simba_mutex.
CREATE TABLE IF NOT EXISTS simba_record (
  mutex   varchar(66) NOT NULL PRIMARY KEY,
  version bigint      NOT NULL,
  content text        NOT NULL
);
