#pragma once

#include <string>
#include <vector>

#include "cli/output/output.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::cli {

/// A mutex of a store as an object: mutex, owner (null: free), token, since, left_ms, session.
Json to_json(const engine::MutexEntry& entry);

/// The mutexes as a table for people, without a new line after the last.
std::string to_table(const std::vector<engine::MutexEntry>& entries, const Palette& palette);

/// "free", or who owns it.
std::string owner_text(const std::string& owner_id);

/// The same for programs: null where it is free.
Json owner_json(const std::string& owner_id);

}  // namespace simba::cli
