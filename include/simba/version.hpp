#pragma once

#include <string_view>

namespace simba {

/// The version of Simba as "major.minor.patch", after semver.org. This is the only definition: the
/// build, the packages and `simba --version` read it from here.
inline constexpr std::string_view version = "0.1.0";

}  // namespace simba
