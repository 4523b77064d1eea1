#pragma once

#include <string>

#include "mysql/settings.hpp"
#include "simba/core/error.hpp"

namespace simba::mysql {

/// What the server or the client library says went wrong.
struct Refusal {
  unsigned code = 0;
  std::string message{};
};

/// When it was said.
enum class Phase {
  connecting,
  asking,    ///< nothing was carried out yet, as far as a refusal of the server goes
  changing,  ///< by the statement that changes something, perhaps while it was being committed
  changed,   ///< an earlier statement of the same text was carried out
};

/// The numbers that more than the messages depend on; the first two are our own, among those of the
/// client library.
inline constexpr unsigned tls_failed = 2026;
inline constexpr unsigned tls_not_offered = 2998;
inline constexpr unsigned answer_too_large = 2997;
inline constexpr unsigned table_missing = 1146;
inline constexpr unsigned statement_binlog = 1665;

/// True where the connection is of no use after this refusal.
bool breaks_connection(const Refusal& refusal) noexcept;

/// True where the connection works, but a new one may get further.
bool calls_for_another(const Refusal& refusal) noexcept;

/// The error to throw: what is wrong and what to do about it.
Error to_error(const Settings& settings, const Refusal& refusal, Phase phase);

/// The same where making the table was refused; `file` has the statements.
Error creation_error(const Settings& settings, const Refusal& refusal, const std::string& file);

/// Whether a statement was refused because the table of records is missing, or because of that
/// table at all: it differs from ours, or the user lacks a right to it.
bool lacks_record_table(const Refusal& refusal) noexcept;
bool concerns_record_table(const Refusal& refusal) noexcept;
Error record_table_error(const Settings& settings, const Refusal& refusal);

/// A view can run functions of whoever made it with the privileges of whoever uses it.
Error view_in_place_of_table(const Settings& settings);

}  // namespace simba::mysql
