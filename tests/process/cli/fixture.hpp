#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/cli/program.hpp"
#include "simba/sqlite/sqlite_factory.hpp"

namespace simba::support {

/// A database of its own for the mutex "m".
struct CliTest : testing::Test {
  using Words = std::vector<std::string>;

  /// The command with this store and mutex, and `more`.
  Words line(const std::string& command, const Words& more) const {
    Words words{command, "-b", "sqlite:" + database.string(), "-m", "m"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// `simba run` of a script of the shell; `options` come before.
  Words script(const std::string& text, Words options = {}) const {
    options.insert(options.end(), {"--", "sh", "-c", text});
    return line("run", options);
  }

  /// A lease that is over after 2 s, with a margin of 100 ms.
  static Words with_short_lease(Words options = {}) {
    options.insert(options.end(), {"--ttl", "1s", "--transition", "1s"});
    return options;
  }

  std::string owner() const {
    return sqlite::make_sqlite_repository({.path = database})->ensure_owner("m").owner_id();
  }

  /// Takes the mutex from whoever owns it.
  void evict() const { sqlite::make_sqlite_repository({.path = database})->release("m", owner()); }

  const TemporaryFolder folder;
  const std::filesystem::path database = folder.path() / "simba.db";
};

}  // namespace simba::support
