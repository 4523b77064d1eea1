#include "config/keys/document.hpp"

#include <functional>
#include <vector>

#include <fmt/format.h>

#include "config/store_types.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

/// As it stands in a cell: a line of a table has no '|' but between cells.
std::string row_of(const Key& key) {
  std::string kind{to_string(key.kind)};
  if (!key.allowed.empty()) {
    kind = key.kind == KeyKind::choice ? key.allowed : fmt::format("{} {}", kind, key.allowed);
  }
  std::string name = fmt::format("`{}`", key.text.name);
  if (key.kind == KeyKind::secret) name += fmt::format(", `{0}-file`, `{0}-env`", key.text.name);
  return fmt::format("| {} | {} | {} | {} |\n", name, kind, key.text.fallback, key.text.meaning);
}

std::string table_of(const KeyTable& keys, KeyGroup group) {
  std::string table = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const Key& key : keys.keys()) {
    if (key.group == group) table += row_of(key);
  }
  return table;
}

bool has(const KeyTable& keys, KeyGroup group) {
  for (const Key& key : keys.keys()) {
    if (key.group == group) return true;
  }
  return false;
}

/// A store has the keys of a group or not; where it has, they are the same.
void put_group(std::string_view name, KeyGroup group,
               const std::function<void(std::string_view, const std::string&)>& put) {
  for (const StoreType& type : store_types()) {
    if (!type.built()) continue;
    const auto options = type.make();
    if (!has(options->keys(), group)) continue;
    put(name, table_of(options->keys(), group));
    return;
  }
}

std::string part_of(const StoreType& type) {
  const auto options = type.make();
  std::string part = "```\n";
  for (const std::string& url : type.urls) part += url + "\n";
  part += "```\n\n";
  if (has(options->keys(), KeyGroup::store)) {
    part += table_of(options->keys(), KeyGroup::store) + "\nAnd the keys of ";
  } else {
    part += "The keys of ";
  }
  if (has(options->keys(), KeyGroup::tls)) part += "TLS, ";
  if (has(options->keys(), KeyGroup::sql)) part += "SQL stores, ";
  return part + "contention.\n";
}

}  // namespace

std::string with_tables(std::string_view document) {
  std::string result{document};
  const auto put = [&](std::string_view name, const std::string& content) {
    const std::string first = fmt::format("<!-- keys: {} -->\n", name);
    const std::size_t begin = result.find(first);
    const std::size_t end = begin == std::string::npos ? begin : result.find("<!-- end -->", begin);
    if (end == std::string::npos) {
      throw Error{ErrorKind::configuration,
                  fmt::format("the document has no section for the keys of \"{}\"", name)};
    }
    result.replace(begin + first.size(), end - begin - first.size(), content);
  };
  put_group("contention", KeyGroup::contention, put);
  put_group("sql", KeyGroup::sql, put);
  put_group("tls", KeyGroup::tls, put);
  for (const StoreType& type : store_types()) {
    if (type.built()) put(type.name, part_of(type));
  }
  return result;
}

}  // namespace simba::config
