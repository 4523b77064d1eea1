#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "simba/core/mutex_owner.hpp"

namespace simba {

/// A contender id that tells others where its holder can be reached, e.g.
/// `10.0.0.7:8080#simba-4a1f...`, with a random UUID that makes it unique. `endpoint` is any text
/// that the reader understands. Throws InvalidArgumentError if it is blank or contains a '#'.
/// Stores limit the length of ids: an endpoint of 60 characters fits all of them.
[[nodiscard]] std::string id_with_endpoint(std::string_view endpoint);

/// The endpoint in an id made by `id_with_endpoint`; empty for any other id, such as those of the
/// JVM library.
[[nodiscard]] std::optional<std::string> endpoint_of(std::string_view contender_id);

/// The endpoint of the holder, if its id has one. Leader discovery on every store.
[[nodiscard]] std::optional<std::string> endpoint(const MutexOwner& owner);

}  // namespace simba
