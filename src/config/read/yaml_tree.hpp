#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simba::config {

struct YamlEntry;

/// A part of a YAML document, with all aliases and merge keys (`<<`) resolved.
struct YamlNode {
  enum class Kind { nothing, text, list, map };

  Kind kind = Kind::nothing;
  int line = 0;  ///< from 1
  std::string text{};
  std::vector<YamlNode> items{};
  std::vector<YamlEntry> entries;  ///< in the order of the file; a key may be there twice
};

struct YamlEntry {
  std::string key{};
  int line = 0;
  YamlNode value{};
};

/// For messages, e.g. "a list".
std::string_view to_string(YamlNode::Kind kind) noexcept;

/// Reads one document; an empty text is a document of nothing. Throws Error of kind
/// `configuration`, whose text begins with `name` and the line and has nothing of the values.
YamlNode parse_yaml(std::string_view text, std::string_view name);

}  // namespace simba::config
