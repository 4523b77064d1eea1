#include "config/keys/common_keys.hpp"

namespace simba::config {

void bind_contention(KeyTable& table, engine::ContentionOptions& options) {
  table.begin(KeyGroup::contention);
  table.duration({.name = "initial-delay", .meaning = "pause before the first attempt"},
                 options.initial_delay);
  table.duration({.name = "ttl", .meaning = "the owner renews before it has passed"}, options.ttl);
  table.duration({.name = "transition", .meaning = "grace in which only the owner may renew"},
                 options.transition);
  table.duration({.name = "margin",
                  .meaning = "the owner steps down this long before anyone else can get in",
                  .fallback = "a twentieth of the lease (ttl + transition), at most 500ms"},
                 options.margin);
  table.integer({.name = "clock-drift-ppm",
                 .meaning = "how much the local clock and the store's may differ in rate, in parts "
                            "per million"},
                options.clock_drift_ppm, 0, 100'000);
  table.integer({.name = "renew-at-percent",
                 .meaning = "the owner renews when this part of the ttl has passed"},
                options.renew_at_percent, 1, 100);
  table.duration({.name = "renew-grid",
                  .meaning = "renewals are moved forward to a common grid, so that those of many "
                             "mutexes go together; 0 turns it off",
                  .fallback = "a twentieth of the ttl"},
                 options.renew_grid);
  table.duration({.name = "request-timeout",
                  .meaning = "a request without an answer counts as failed after this time",
                  .fallback = "a quarter of what is left of the lease when a renewal is due, at "
                              "most 5s"},
                 options.request_timeout);
  table.duration({.name = "retry-min",
                  .meaning = "first pause between attempts that fail; each pause doubles",
                  .fallback = "a 160th of the lease, at most 100ms"},
                 options.retry_min);
  table.duration({.name = "retry-max",
                  .meaning = "longest pause between attempts that fail",
                  .fallback = "a 16th of the lease, at most 1s"},
                 options.retry_max);
  table.duration({.name = "retry-refused",
                  .meaning = "pause after an error that does not pass by itself, as a wrong "
                             "password",
                  .fallback = "the longer of 1s and the ttl"},
                 options.retry_refused);
  table.signed_duration({.name = "jitter-low",
                         .meaning = "attempts of waiting contenders begin this long after the end "
                                    "of the lease",
                         .field = "jitter.low"},
                        options.jitter.low);
  table.signed_duration({.name = "jitter-high",
                         .meaning = "and are spread up to this long after it",
                         .field = "jitter.high"},
                        options.jitter.high);
  table.duration({.name = "drain-limit",
                  .meaning = "how long a stop waits, and renews, while the owner's callback runs"},
                 options.drain_limit);
  table.duration({.name = "release-wait",
                  .meaning = "how long a stop waits for the store to confirm the release",
                  .fallback = "`request-timeout`"},
                 options.release_wait);
  table.duration({.name = "observe-interval",
                  .meaning = "how often an observer looks when nothing tells it of changes",
                  .fallback = "the ttl"},
                 options.observe_interval);
}

void bind_tls(KeyTable& table, TlsOptions& options) {
  table.begin(KeyGroup::tls);
  table.choice<TlsMode>({.name = "tls",
                         .meaning = "`encrypt` trusts anyone who answers, `verify-ca` whoever the "
                                    "CA has signed, `verify` only the host that is named",
                         .field = "tls.mode"},
                        options.mode,
                        {{"off", TlsMode::off},
                         {"encrypt", TlsMode::encrypt},
                         {"verify-ca", TlsMode::verify_ca},
                         {"verify", TlsMode::verify}});
  table.path({.name = "ca-file",
              .meaning = "certificates of the CA, in PEM format",
              .fallback = "those that the system trusts",
              .field = "tls.ca_file"},
             options.ca_file);
  table.path({.name = "certificate-file",
              .meaning = "the client's certificate, in PEM format, where the server asks for one",
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
                  .meaning = "how long a change stays unnoticed at most when no hint of it comes",
                  .fallback = "1s where the database or the file system tells of changes, else "
                              "100ms, as on MySQL",
                  .field = "poll interval"},
                 options.poll_interval);
  table.integer({.name = "pool-size",
                 .meaning = "connections that carry out the requests of all mutexes",
                 .fallback = "2; on SQLite 1",
                 .field = "pool size"},
                options.pool_size, 1, 64);
  table.duration({.name = "connect-timeout",
                  .meaning = "how long a connection may take",
                  .field = "connect time-out"},
                 options.connect_timeout);
  table.duration({.name = "statement-timeout",
                  .meaning = "a statement without an answer counts as failed, and its connection "
                             "as broken, after this time",
                  .fallback = "`request-timeout`",
                  .field = "statement time-out"},
                 options.statement_timeout);
  table.choice<sql::Schema>(
      {.name = "schema", .meaning = "whether the table is made where it is missing"},
      options.schema, {{"create", sql::Schema::create}, {"expect", sql::Schema::expect}});
  bind_contention(table, options.contention);
}

}  // namespace simba::config
