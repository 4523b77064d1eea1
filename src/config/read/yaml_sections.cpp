#include <algorithm>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "config/read/sections.hpp"
#include "config/read/yaml_tree.hpp"

namespace simba::config {
namespace {

std::string origin_of(std::string_view name, const YamlEntry& entry, std::string_view path) {
  // A key may hold anything, as the text of a file that is not a configuration.
  const std::string key = shown(entry.key);
  return fmt::format("{}:{}: {}{}", name, entry.line, path, key.substr(1, key.size() - 2));
}

void check_no_key_twice(const YamlNode& map, std::string_view name, std::string_view path) {
  std::vector<const YamlEntry*> entries;
  entries.reserve(map.entries.size());
  for (const YamlEntry& entry : map.entries) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto* one, const auto* other) { return one->key < other->key; });
  const auto twice =
      std::adjacent_find(entries.begin(), entries.end(),
                         [](const auto* one, const auto* other) { return one->key == other->key; });
  if (twice == entries.end()) return;
  refuse(origin_of(name, **std::next(twice), path),
         fmt::format("duplicate key, first on line {}", (*twice)->line));
}

/// Sets the value, or the problem with it.
void read_value(const YamlNode& node, Setting& setting) {
  switch (node.kind) {
    case YamlNode::Kind::text:
      setting.value = node.text;
      return;
    case YamlNode::Kind::nothing:
      setting.problem = "missing value; remove the key, or write \"\" for an empty string";
      return;
    case YamlNode::Kind::map:
      setting.problem = "expected a single value, found a map";
      return;
    case YamlNode::Kind::list:
      break;
  }
  const bool may_be_list = setting.key == "hosts" || setting.key == "connect-string";
  if (!may_be_list) {
    setting.problem = "expected a single value, found a list";
    return;
  }
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::text) {
      setting.problem =
          fmt::format("expected a list of single values, found {} in it", to_string(item.kind));
      return;
    }
    if (!setting.value.empty()) setting.value += ',';
    setting.value += item.text;
  }
}

Setting read_setting(const YamlEntry& entry, std::string_view name, std::string_view path) {
  Setting setting{.key = entry.key,
                  .value = {},
                  .origin = origin_of(name, entry, path),
                  .numbers = WithoutUnit::milliseconds};
  read_value(entry.value, setting);
  return setting;
}

Section read_section(const YamlEntry& entry, std::string_view name) {
  Section section{.name = entry.key,
                  .origin = origin_of(name, entry, "simba."),
                  .place = fmt::format("simba.{} (line {})", entry.key, entry.line)};
  const YamlNode& map = entry.value;
  if (map.kind == YamlNode::Kind::nothing) return section;
  if (map.kind != YamlNode::Kind::map) {
    refuse(section.origin,
           fmt::format("expected a map with the keys of the store, found {}", to_string(map.kind)));
  }
  const std::string path = fmt::format("simba.{}.", entry.key);
  check_no_key_twice(map, name, path);
  for (const YamlEntry& item : map.entries) {
    Setting setting = read_setting(item, name, path);
    if (item.key == "enabled") {
      section.enabled = std::move(setting);
    } else if (item.key == "url") {
      section.url = std::move(setting);
    } else {
      section.keys.push_back(std::move(setting));
    }
  }
  return section;
}

const YamlEntry& find_simba(const YamlNode& root, std::string_view name) {
  if (root.kind == YamlNode::Kind::nothing) {
    refuse(name,
           "the file is empty; add the key \"simba\" and a store under it, for example "
           "simba: {sqlite: {path: /var/lib/app/simba.db}}");
  }
  if (root.kind != YamlNode::Kind::map) {
    refuse(fmt::format("{}:{}", name, root.line),
           fmt::format("expected a map with the key \"simba\", found {}", to_string(root.kind)));
  }
  const YamlEntry* simba = nullptr;
  for (const YamlEntry& entry : root.entries) {
    if (entry.key.starts_with("simba.")) {
      refuse(origin_of(name, entry, ""),
             "keys with dots are not supported; write each part on its own line");
    }
    if (entry.key != "simba") continue;
    if (simba != nullptr) {
      refuse(origin_of(name, entry, ""),
             fmt::format("duplicate key, first on line {}", simba->line));
    }
    simba = &entry;
  }
  if (simba != nullptr) return *simba;
  for (const YamlEntry& entry : root.entries) {
    if (nearest(entry.key, {"simba"})) {
      refuse(origin_of(name, entry, ""), "unknown key; did you mean \"simba\"?");
    }
  }
  refuse(name,
         "missing key \"simba\"; configure the store under it, for example simba: {sqlite: {path: "
         "/var/lib/app/simba.db}}");
}

}  // namespace

Sections read_yaml(std::string_view text, std::string_view name) {
  const YamlNode root = parse_yaml(text, name);
  const YamlEntry& simba = find_simba(root, name);
  Sections result;
  if (simba.value.kind == YamlNode::Kind::nothing) return result;
  if (simba.value.kind != YamlNode::Kind::map) {
    refuse(origin_of(name, simba, ""),
           fmt::format("expected a map with a section for each store, found {}",
                       to_string(simba.value.kind)));
  }
  check_no_key_twice(simba.value, name, "simba.");
  std::vector<std::string> known = section_names();
  known.insert(known.begin(), "enabled");
  for (const YamlEntry& entry : simba.value.entries) {
    const std::string origin = origin_of(name, entry, "simba.");
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      refuse(origin, "unknown key" + suggestion(entry.key, known));
    }
    if (entry.key == "enabled") {
      result.enabled = read_setting(entry, name, "simba.");
    } else {
      result.sections.push_back(read_section(entry, name));
    }
  }
  return result;
}

}  // namespace simba::config
