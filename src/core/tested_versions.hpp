#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace simba::detail {

/// The versions of a server that the tests have run on; docs/compatibility.md has the details.
struct TestedVersions {
  std::string_view product;
  std::array<unsigned, 2> oldest;
  std::array<unsigned, 2> newest;
};

std::span<const TestedVersions> tested_versions() noexcept;

/// That `version` is older or newer than what was tested; empty where it is neither, or where
/// nobody knows. Patch releases do not count, nor do minor ones of a product whose second number
/// is that of the patch.
std::string untested_version(std::string_view product, std::string_view version);

/// What is known to break on a product that speaks the protocol of one that is tested; empty where
/// there is no such product.
std::string untested_product(std::string_view product);

}  // namespace simba::detail
