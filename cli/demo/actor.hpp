#pragma once

#include <string>

#include "simba/config/configuration.hpp"
#include "simba/core/time.hpp"

namespace simba::cli::demo {

/// The mutex that the candidates of the demonstration contend for.
inline constexpr auto mutex_name = "demo-leader";

/// What a candidate, a process of its own, tells the stage by lines on its standard output: a word,
/// a fencing token (0: none) and a moment of CLOCK_BOOTTIME in nanoseconds.
struct News {
  enum class Kind { leads, follows };
  Kind kind = Kind::follows;
  FencingToken token = 0;
  LocalTime at{};
};

std::string to_line(const News& news);

/// Throws std::invalid_argument.
News parse_news(const std::string& line);

LocalTime local_now() noexcept;

/// The store that they share: an SQLite database.
struct StoreSetting {
  std::string path{};
  std::string ttl{};
  std::string transition{};
};

/// Throws Error, of kind `unsupported` where SQLite was not built in.
config::Configuration to_configuration(const StoreSetting& setting);

/// Is the candidate `name` on that store until TERM comes. Returns the exit code.
int be_candidate(const std::string& name, const StoreSetting& setting, int verbosity);

}  // namespace simba::cli::demo
