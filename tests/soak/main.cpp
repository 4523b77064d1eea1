// simba-soak: many mutexes, many processes, for a long time: nothing grows, and nothing is left.
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "soak/driver.hpp"
#include "soak/options.hpp"
#include "soak/outcome.hpp"
#include "soak/worker.hpp"
#include "support/missing_server.hpp"

namespace {

constexpr int good = 0;
constexpr int bad = 1;
constexpr int trouble = 2;
constexpr int skipped = 77;
constexpr int interrupted = 130;

int drive(const simba::soak::Options& options) {
  const auto outcome = simba::soak::run(options);
  const std::string text = report(outcome, options);
  std::fputs(text.c_str(), stdout);
  if (!options.report.empty()) {
    std::ofstream file{options.report};
    file << text;
    if (!file.flush()) throw std::runtime_error{"cannot write " + options.report.string()};
  }
  if (outcome.interrupted) return interrupted;
  return verdict(outcome, options).empty() ? good : bad;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = simba::soak::parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(simba::soak::usage, stdout);
      return good;
    }
    return options.worker ? simba::soak::be_worker(options) : drive(options);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "simba-soak: %s\n%s", error.what(), simba::soak::usage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simba-soak: %s\n", error.what());
    if (simba::support::is_missing_server(error)) return skipped;
  }
  return trouble;
}
