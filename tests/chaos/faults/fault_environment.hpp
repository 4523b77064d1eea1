#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "chaos/faults/clock_line.hpp"
#include "chaos/faults/detour_table.hpp"
#include "chaos/shared_page.hpp"
#include "support/temporary_folder.hpp"

namespace simba::chaos {

/// What servers that are started from now on read and load, in a folder that is open to their
/// account: their clocks, and the ways that their connections take.
///
/// It is in the environment as long as this object lives. One at a time.
class FaultEnvironment {
 public:
  FaultEnvironment() {
    namespace fs = std::filesystem;
    fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::group_read |
                                        fs::perms::group_exec | fs::perms::others_read |
                                        fs::perms::others_exec);
    std::string libraries;
    for (const fs::path library : {SIMBA_CHAOS_CLOCK_SKEW, SIMBA_CHAOS_DETOUR}) {
      const auto copy = path() / library.filename();
      fs::copy_file(library, copy);
      libraries += (libraries.empty() ? "" : ":") + copy.string();
    }
    ::setenv("SIMBA_TEST_SERVER_PRELOAD", libraries.c_str(), 1);
    ::setenv("SIMBA_CLOCK_SKEW", (path() / "clocks").c_str(), 1);
    ::setenv("SIMBA_DETOURS", (path() / "detours").c_str(), 1);
  }
  ~FaultEnvironment() {
    for (const char* const name :
         {"SIMBA_TEST_SERVER_PRELOAD", "SIMBA_CLOCK_SKEW", "SIMBA_DETOURS"}) {
      ::unsetenv(name);
    }
  }
  FaultEnvironment(const FaultEnvironment&) = delete;
  FaultEnvironment& operator=(const FaultEnvironment&) = delete;

  const std::filesystem::path& path() const noexcept { return folder_.path(); }
  ClockSkew& clocks() { return *clocks_; }
  DetourTable& detours() { return *detours_; }

 private:
  support::TemporaryFolder folder_;
  SharedPage<ClockSkew> clocks_{folder_.path() / "clocks"};
  SharedPage<DetourTable> detours_{folder_.path() / "detours"};
};

}  // namespace simba::chaos
