#pragma once

namespace simba::support {

/// Begins what a test says of a broken rule of safety: two owners, a token that does not grow, a
/// lost update, a callback after stop. scripts/test.sh looks for it and gives such a test no second
/// chance, so what mere lack of time can bring about must not have it.
inline constexpr const char* safety_violation = "SAFETY-VIOLATION: ";

}  // namespace simba::support
