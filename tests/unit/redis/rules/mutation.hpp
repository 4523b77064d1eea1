#pragma once

#include <string>

#include "redis/protocol/script.hpp"

namespace simba::redis::rules {

/// What to break, to see that it would be found.
enum class Mutation {
  none,
  grants_count_from_receipt,       ///< instead of from the last PING that was answered
  leases_count_from_reply,         ///< instead of from before the request was sent
  release_ignores_token,           ///< a late release ends a newer ownership
  guard_ignores_owner,             ///< a renewal by one who is no longer the owner
  everyone_is_heard,               ///< the mutex is passed to waiters that are gone
  the_dead_stay_in_the_jvm_queue,  ///< which releases of the JVM library are lost on
  changes_go_unnoticed,            ///< a watch that is confirmed already never looks again
  no_look_after_subscribing,       ///< and neither does one that has just been confirmed
};

/// The text of a script as it is, or broken. Throws where the text has changed so that it cannot
/// be broken like that any more.
std::string mutated(Mutation mutation, Script script, const std::string& text);

}  // namespace simba::redis::rules
