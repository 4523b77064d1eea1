#include <gtest/gtest.h>

#include "simba/core/contention_event.hpp"
#include "simba/core/mutex_retrieval_service.hpp"

namespace simba {
namespace {

TEST(ServiceStatus, IsWrittenInCapitals) {
  EXPECT_EQ(to_string(ServiceStatus::initial), "INITIAL");
  EXPECT_EQ(to_string(ServiceStatus::starting), "STARTING");
  EXPECT_EQ(to_string(ServiceStatus::running), "RUNNING");
  EXPECT_EQ(to_string(ServiceStatus::stopping), "STOPPING");
  EXPECT_EQ(to_string(static_cast<ServiceStatus>(99)), "UNKNOWN");
}

TEST(LossReason, IsWrittenInWords) {
  EXPECT_EQ(to_string(LossReason::expired), "expired");
  EXPECT_EQ(to_string(LossReason::taken_over), "taken over");
  EXPECT_EQ(to_string(LossReason::revoked), "revoked");
  EXPECT_EQ(to_string(LossReason::duplicate_id), "duplicate id");
  EXPECT_EQ(to_string(static_cast<LossReason>(99)), "unknown");
}

}  // namespace
}  // namespace simba
