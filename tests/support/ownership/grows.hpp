#pragma once

#include <gtest/gtest.h>

#include "simba/core/time.hpp"
#include "support/safety.hpp"

namespace simba::support {

/// Whether the token of a later ownership is greater than that of an earlier one. A token of 0 is
/// none: who has it has not got the mutex, for whatever reason.
inline testing::AssertionResult grows(FencingToken before, FencingToken after) {
  if (after > before) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << (after == 0 ? "" : safety_violation) << "token " << after << " after token " << before;
}

}  // namespace simba::support
