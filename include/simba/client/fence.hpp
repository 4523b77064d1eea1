#pragma once

#include <string>
#include <string_view>

#include "simba/core/time.hpp"

/// Helpers that put a fencing token into a write of your own, so that the resource refuses what a
/// former owner sends late. docs/fenced-writes.md says what else it takes.
namespace simba::fence {

/// The two pieces of a fenced statement. Both go into one statement: check and write are one step.
struct Sql {
  std::string set;    ///< for the list after SET, e.g. `fence = 42`
  std::string where;  ///< for the condition, e.g. `fence <= 42`
};

/// For a table with a column that keeps the greatest token seen, `bigint NOT NULL DEFAULT 0`:
///
///     const auto fence = simba::fence::sql(lock.fencing_token());
///     "UPDATE account SET balance = ?, " + fence.set + " WHERE id = ? AND " + fence.where
///
/// No row matched: a newer owner has written, so stop. MySQL counts only rows whose values change,
/// unless the connection has CLIENT_FOUND_ROWS. Throws InvalidArgumentError if the token is 0
/// (there is no lock) or greater than what `bigint` holds, and if `column` is not made of
/// letters, digits, '_' and '.'.
[[nodiscard]] Sql sql(FencingToken token, std::string_view column = "fence");

/// A Lua script for Redis that does what `script` does, unless a newer owner has been there: then
/// it writes nothing and returns an error that begins with "FENCED".
///
/// It takes one more key after those of `script`, which keeps the greatest token seen, and one more
/// argument after those of `script`, the token:
///
///     const std::string write = simba::fence::redis("return redis.call('SET', KEYS[1], ARGV[1])");
///     // EVAL <write> 2 report:{eu} report:{eu}:fence <value> <token>
///
/// The text does not depend on the token, so the server compiles it once. Throws
/// InvalidArgumentError if `script` is blank or begins with "#!", since the check must come first.
[[nodiscard]] std::string redis(std::string_view script);

}  // namespace simba::fence
