#include "config/keys/common_keys.hpp"

namespace simba::config {

void bind_contention(KeyTable& table, ContentionOptions& options) {
  table.begin(KeyGroup::contention);
  table.duration({.name = "initial-delay", .meaning = "delay before the first attempt"},
                 options.initial_delay);
  table.duration({.name = "ttl", .meaning = "the owner renews within this time"}, options.ttl);
  table.duration({.name = "transition",
                  .meaning = "grace period after the ttl in which only the owner may renew"},
                 options.transition);
  table.duration({.name = "margin",
                  .meaning = "the owner steps down this long before anyone else can acquire",
                  .fallback = "a twentieth of the lease (ttl + transition), at most 500ms"},
                 options.margin);
  table.integer({.name = "clock-drift-ppm",
                 .meaning = "how much the rates of the local clock and the store's clock may "
                            "differ, in parts per million"},
                options.clock_drift_ppm, 0, 100'000);
  table.integer({.name = "renew-at-percent",
                 .meaning = "the owner renews when this percentage of the ttl has passed"},
                options.renew_at_percent, 1, 100);
  table.duration({.name = "renew-grid",
                  .meaning = "renewals are moved forward to a common grid, so that many mutexes "
                             "are renewed together; 0 disables it",
                  .fallback = "a twentieth of the ttl"},
                 options.renew_grid);
  table.duration(
      {.name = "request-timeout",
       .meaning = "a request that is not answered within this time counts as failed",
       .fallback = "a quarter of the lease that is left when a renewal is due, at most 5s"},
      options.request_timeout);
  table.duration(
      {.name = "retry-min",
       .meaning = "first delay after a failed attempt; it doubles with each further failure",
       .fallback = "a 160th of the lease, at most 100ms"},
      options.retry_min);
  table.duration({.name = "retry-max",
                  .meaning = "longest delay between failed attempts",
                  .fallback = "a 16th of the lease, at most 1s"},
                 options.retry_max);
  table.duration({.name = "retry-refused",
                  .meaning = "delay after an error that is not transient, such as a wrong password",
                  .fallback = "the longer of 1s and the ttl"},
                 options.retry_refused);
  table.signed_duration(
      {.name = "jitter-low",
       .meaning = "earliest attempt of a waiting contender, relative to the end of the lease",
       .field = "jitter.low"},
      options.jitter.low);
  table.signed_duration(
      {.name = "jitter-high",
       .meaning = "latest attempt of a waiting contender, relative to the end of the lease",
       .field = "jitter.high"},
      options.jitter.high);
  table.duration(
      {.name = "drain-limit",
       .meaning = "how long a stop waits, and renews the lease, while the owner's callback runs"},
      options.drain_limit);
  table.duration({.name = "release-wait",
                  .meaning = "how long a stop waits for the store to confirm the release",
                  .fallback = "`request-timeout`"},
                 options.release_wait);
  table.duration(
      {.name = "observe-interval",
       .meaning = "how often an observer polls if the store does not notify it of changes",
       .fallback = "the ttl"},
      options.observe_interval);
}

void bind_tls(KeyTable& table, TlsOptions& options) {
  table.begin(KeyGroup::tls);
  table.choice<TlsMode>({.name = "tls",
                         .meaning = "`encrypt` does not verify the server, `verify-ca` verifies "
                                    "its CA, `verify` also its host name",
                         .fallback = "off; required if a password is sent to another host",
                         .field = "tls.mode"},
                        options.mode,
                        {{"off", TlsMode::off},
                         {"encrypt", TlsMode::encrypt},
                         {"verify-ca", TlsMode::verify_ca},
                         {"verify", TlsMode::verify}});
  table.path({.name = "ca-file",
              .meaning = "CA certificates, in PEM format",
              .fallback = "the system's trusted CAs; required with `verify-ca`",
              .field = "tls.ca_file"},
             options.ca_file);
  table.path({.name = "certificate-file",
              .meaning = "the client's certificate, in PEM format, if the server requires one",
              .field = "tls.certificate_file"},
             options.certificate_file);
  table.path({.name = "key-file",
              .meaning = "the key of the client's certificate",
              .field = "tls.key_file"},
             options.key_file);
}

void bind_sql(KeyTable& table, sql::SqlOptions& options) {
  table.begin(KeyGroup::sql);
  table.duration({.name = "poll-interval",
                  .meaning = "how often to poll: the longest time that a change goes unnoticed if "
                             "no notification arrives",
                  .fallback = "1s if the database or the file system sends notifications, "
                              "otherwise 100ms, as on MySQL"},
                 options.poll_interval);
  table.integer({.name = "pool-size",
                 .meaning = "connections that execute the requests of all mutexes",
                 .fallback = "2; on SQLite 1"},
                options.pool_size, 1, 64);
  table.duration({.name = "connect-timeout", .meaning = "how long connecting may take"},
                 options.connect_timeout);
  table.duration({.name = "statement-timeout",
                  .meaning = "a statement that is not answered within this time counts as failed, "
                             "and its connection as broken",
                  .fallback = "`request-timeout`"},
                 options.statement_timeout);
  table.choice<sql::Schema>(
      {.name = "schema", .meaning = "whether to create the table if it is missing"}, options.schema,
      {{"create", sql::Schema::create}, {"expect", sql::Schema::expect}});
  bind_contention(table, options.contention);
}

}  // namespace simba::config
