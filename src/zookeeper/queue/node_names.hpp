#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/random.hpp"

namespace simba::zookeeper {

/// Throws InvalidArgumentError, saying why, if `name` cannot be the name of one node. `what`
/// names the value in the message, e.g. "mutex name".
void check_node_name(std::string_view what, std::string_view name);

/// The node below the base path that holds the records of all mutexes. No mutex has this name.
inline constexpr std::string_view records_name = "simba:records";

/// The beginning of a contender's node, `_c_<uuid>-latch-`: the server adds the sequence number.
/// The uuid finds the node again when the answer to its creation got lost.
std::string protective_prefix(Random& random);

/// What orders the contenders of a mutex: that which follows the last `latch-`. Empty if the
/// node is no contender's.
std::optional<std::string_view> sequence_of(std::string_view name) noexcept;

/// Those of contenders, in the order of their sequence.
std::vector<std::string> contenders_among(const std::vector<std::string>& names);

/// All prefixes of a path, e.g. "/a", "/a/b" and "/a/b/c".
std::vector<std::string> steps_to(std::string_view path);

}  // namespace simba::zookeeper
