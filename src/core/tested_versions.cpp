#include "core/tested_versions.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::detail {
namespace {

// The second number of PostgreSQL is that of the patch.
constexpr std::array<TestedVersions, 7> tested{{
    {"MariaDB", {10, 11}, {11, 8}},
    {"MySQL", {5, 7}, {9, 7}},
    {"PostgreSQL", {15, 0}, {18, 0}},
    {"Redis", {7, 0}, {8, 0}},
    {"SQLite", {3, 40}, {3, 53}},
    {"Valkey", {8, 1}, {9, 1}},
    {"ZooKeeper", {3, 8}, {3, 9}},
}};

struct Stranger {
  std::string_view product;
  std::string_view breaks;
};

constexpr std::array<Stranger, 7> strangers{{
    {"TiDB", "each of its servers decides about leases by its own clock"},
    {"Vitess", "a table that is sharded, or moved to another shard, may give a mutex two owners"},
    {"CockroachDB",
     "it has no LISTEN, so that waiters are not notified, and each node decides about leases by "
     "its own clock"},
    {"YugabyteDB",
     "it may have no LISTEN, so that waiters are not notified, and each node decides about leases "
     "by its own clock"},
    {"KeyDB", "with active replication two servers can grant the same mutex"},
    {"Dragonfly", "its persistence and its scripts differ from those of Redis"},
    {"Kvrocks", "its expiry and its scripts differ from those of Redis"},
}};

bool has_minor_versions(std::string_view product) { return product != "PostgreSQL"; }

std::string text_of(const TestedVersions& product, std::array<unsigned, 2> version) {
  return has_minor_versions(product.product) ? fmt::format("{}.{}", version[0], version[1])
                                             : fmt::format("{}", version[0]);
}

}  // namespace

std::span<const TestedVersions> tested_versions() noexcept { return tested; }

std::string untested_version(std::string_view product, std::string_view version) {
  const auto* const found = std::find_if(tested.begin(), tested.end(),
                                         [&](const auto& each) { return each.product == product; });
  const auto numbers = parse_version(version);
  if (found == tested.end() || numbers[0] == 0) return {};
  const std::array own{numbers[0], has_minor_versions(product) ? numbers[1] : 0};
  if (own >= found->oldest && own <= found->newest) return {};
  return fmt::format("{} {} is {} than the versions that Simba is tested with, {} to {}", product,
                     text_of(*found, own), own < found->oldest ? "older" : "newer",
                     text_of(*found, found->oldest), text_of(*found, found->newest));
}

std::string untested_product(std::string_view product) {
  const auto* const found =
      std::find_if(strangers.begin(), strangers.end(),
                   [&](const Stranger& each) { return each.product == product; });
  if (found == strangers.end()) return {};
  return fmt::format("this is {}, which Simba is not tested with: {}", product, found->breaks);
}

}  // namespace simba::detail
