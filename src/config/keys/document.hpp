#pragma once

#include <string>
#include <string_view>

namespace simba::config {

/// Puts the tables of all keys into a document in Markdown, between lines as
/// `<!-- keys: redis -->` and `<!-- end -->`. The text for stores that were not built in stays
/// as it is. Throws Error of kind `configuration` if a place for a table is missing.
std::string with_tables(std::string_view document);

}  // namespace simba::config
