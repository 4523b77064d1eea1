#pragma once

#include <gtest/gtest.h>

#include "simba/core/mutex_contend_service.hpp"
#include "support/patience.hpp"

namespace simba::support {

/// Waits until it is owner no longer, and returns the last moment at which it was for certain: a
/// stall of whoever asks does not count.
inline LocalTime last_seen_owning(const MutexContendService& service) {
  LocalTime last = now();
  EXPECT_TRUE(eventually([&] {
    const LocalTime before = now();
    if (!service.is_owner()) return true;
    last = before;
    return false;
  }));
  return last;
}

}  // namespace simba::support
