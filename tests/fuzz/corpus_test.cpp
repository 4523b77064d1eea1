// Runs the kept inputs of each fuzz target: what was found once stays mended, without clang.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// SIMBA_FUZZ_TARGETS(X) is X(config_url) X(config_yaml) ...: each target is compiled with a name of
// its own for LLVMFuzzerTestOneInput.
#include "fuzz_targets.hpp"

#define SIMBA_DECLARE(name) \
  extern "C" int simba_fuzz_##name(const std::uint8_t* data, std::size_t size);
SIMBA_FUZZ_TARGETS(SIMBA_DECLARE)
#undef SIMBA_DECLARE

namespace simba {
namespace {

struct Target {
  const char* name = nullptr;
  int (*run)(const std::uint8_t*, std::size_t) = nullptr;

  friend void PrintTo(const Target& target, std::ostream* stream) { *stream << target.name; }
};

#define SIMBA_ENTRY(name) Target{#name, simba_fuzz_##name},
const std::vector<Target> targets{SIMBA_FUZZ_TARGETS(SIMBA_ENTRY)};
#undef SIMBA_ENTRY

class FuzzCorpus : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, HoldsWhatTheTargetPromises) {
  const auto folder = std::filesystem::path{SIMBA_TEST_CORPUS} / GetParam().name;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    std::ifstream file{entry.path(), std::ios::binary};
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>{file}, {}};
    ASSERT_TRUE(file) << entry.path();
    // What does not hold ends this process: the last line then tells the input.
    std::cout << entry.path().filename().string() << std::endl;
    EXPECT_EQ(GetParam().run(bytes.data(), bytes.size()), 0);
    ++count;
  }
  EXPECT_GT(count, 0U) << folder << " has no inputs";
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, testing::ValuesIn(targets),
                         [](const testing::TestParamInfo<Target>& one) {
                           return std::string{one.param.name};
                         });

}  // namespace
}  // namespace simba
