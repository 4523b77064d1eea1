#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/command_line.hpp"
#include "chaos/result.hpp"

namespace simba::chaos {

/// Runs a round on each store, each in a process of its own, several at a time where asked for.
/// Returns what they came to, in the order of the stores. `folder` gets a folder for each.
std::vector<StoreResult> run_rounds(const CommandLine& line, const std::filesystem::path& folder,
                                    const std::atomic<bool>& interrupted);

/// What the process of a round came to that has written `text` and ended with `code`. `unknown`:
/// what is known of the round without it.
StoreResult result_of(const std::string& text, int code, StoreResult unknown);

}  // namespace simba::chaos
