#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace simba::chaos {

/// What simba-chaos was asked for.
struct CommandLine {
  enum class Action { run, list, help };

  Action action = Action::run;
  std::vector<std::string> stores{};
  std::chrono::seconds length{20};
  std::uint64_t seed = 1;
  int parallel = 1;
  int contenders = 5;
  int jvm = 2;
  bool unsafe = false;             ///< only what is documented as unsafe
  bool resume = false;             ///< what `out` has results of is not run again
  std::filesystem::path out{};     ///< empty: only what is broken is kept
  std::filesystem::path report{};  ///< empty: none
};

/// Says what is wrong with the arguments.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `words`: without the name of the program. `known`: the stores that "all" stands for. `fetched`:
/// those that must be named. Throws UsageError.
CommandLine parse_command_line(const std::vector<std::string>& words,
                               const std::vector<std::string>& known,
                               const std::vector<std::string>& fetched = {});

std::string usage_text();

}  // namespace simba::chaos
