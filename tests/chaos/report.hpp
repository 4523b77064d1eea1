#pragma once

#include <string>
#include <vector>

#include "chaos/result.hpp"

namespace simba::chaos {

/// The table of all stores and what lies behind it, for a terminal.
std::string as_table(const std::vector<StoreResult>& results);

/// The same as Markdown.
std::string as_markdown(const std::vector<StoreResult>& results);

}  // namespace simba::chaos
