#include "config/keys/document.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/store_types.hpp"
#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using testing::HasSubstr;

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
  EXPECT_EQ(text, expected) << "SIMBA_UPDATE_DOCS=1 and this test puts it right";
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
