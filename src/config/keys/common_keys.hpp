#pragma once

#include "config/keys/key_table.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/sql/sql_options.hpp"

namespace simba::config {

/// The keys that several stores have. The options must outlive the table.
void bind_contention(KeyTable& table, ContentionOptions& options);
void bind_tls(KeyTable& table, TlsOptions& options);

/// Those of SQL and of its contention.
void bind_sql(KeyTable& table, sql::SqlOptions& options);

}  // namespace simba::config
