// docs/configuration.md has the tables of the keys that the stores know.
#include "config/store_types.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using testing::HasSubstr;

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

/// Puts the tables of all keys into a document in Markdown, between lines as
/// `<!-- keys: redis -->` and `<!-- end -->`. The text for stores that were not built in stays
/// as it is. Throws Error of kind `configuration` if a place for a table is missing.
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

const std::filesystem::path document = SIMBA_TEST_DOCUMENT;

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

TEST(ConfigurationDocument, HasEveryKey) {
  const std::string text = content_of(document);
  ASSERT_FALSE(text.empty()) << document;
  const std::string expected = with_tables(text);
  if (std::getenv("SIMBA_UPDATE_DOCS") != nullptr) {
    std::ofstream{document} << expected;
    return;
  }
  EXPECT_EQ(text, expected) << "run this test with SIMBA_UPDATE_DOCS=1 to update it";
}

TEST(ConfigurationDocument, NeedsAPlaceForEachTable) {
  EXPECT_THAT(refusal_of([] { with_tables("# Configuration\n"); }), HasSubstr("no section"));
}

TEST(ConfigurationKeys, AreExplainedAndNamedInOneWay) {
  for (const StoreType& type : store_types()) {
    if (!type.built()) continue;
    const auto options = type.make();
    for (const Key& key : options->keys().keys()) {
      SCOPED_TRACE(type.name + "." + key.text.name);
      EXPECT_THAT(key.text.name, testing::MatchesRegex("[a-z]+(-[a-z]+)*"));
      EXPECT_FALSE(key.text.meaning.empty());
      EXPECT_FALSE(key.text.fallback.empty());
      EXPECT_EQ((key.text.meaning + key.text.fallback).find_first_of("|\n"), std::string::npos);
      EXPECT_TRUE(key.set);
    }
  }
}

TEST(ConfigurationKeys, OfAGroupAreTheSameInAllStores) {
  std::map<std::string, const Key*> seen;
  std::vector<std::unique_ptr<StoreOptions>> all;
  for (const StoreType& type : store_types()) {
    if (!type.built()) continue;
    all.push_back(type.make());
    for (const Key& key : all.back()->keys().keys()) {
      if (key.group == KeyGroup::store) continue;
      const Key& first = *seen.emplace(key.text.name, &key).first->second;
      EXPECT_EQ(key.text.meaning, first.text.meaning);
      EXPECT_EQ(key.text.fallback, first.text.fallback);
      EXPECT_EQ(key.group, first.group);
    }
  }
}

TEST(ConfigurationKeys, AreThereOnce) {
  for (const StoreType& type : store_types()) {
    if (!type.built()) continue;
    const auto options = type.make();
    auto names = options->keys().names();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << type.name;
  }
}

}  // namespace
}  // namespace simba::config
