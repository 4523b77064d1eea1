// Owning, handing over and what is said of it.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/recording_retriever.hpp"
#include "unit/engine/lease_contend_service_fixture.hpp"

namespace simba::engine {
namespace {

using testing::HasSubstr;
using testkit::Fault;
using testkit::Operation;

TEST_F(LeaseContendServiceTest, OwnsAFreeMutexAsSoonAsItIsStarted) {
  Party a{*this, "a"};
  EXPECT_TRUE(a.service->lost().stop_requested()) << "nothing is owned yet";
  a.service->start();
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_TRUE(a.service->is_in_ttl());
  EXPECT_FALSE(a.service->lost().stop_requested());
  EXPECT_GT(a.service->fencing_token(), 0U);
  EXPECT_TRUE(a.service->mutex_state().is_acquired("a"));
  EXPECT_TRUE(a.service->has_owner());
  EXPECT_EQ(a.service->after_owner().owner_id(), "a");
  EXPECT_EQ(a.service->before_owner().owner_id(), "");
  EXPECT_EQ(&a.service->contender(), &a.contender);
  EXPECT_EQ(a.contender.acquisitions(), 0U) << "callbacks come on the executor";
  runtime_.run_ready();
  EXPECT_EQ(a.contender.acquisitions(), 1U);
}

TEST_F(LeaseContendServiceTest, KeepsTheMutexForManyLeases) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.service->start();
  b.service->start();
  for (int i = 0; i < 100; ++i) {
    runtime_.advance(5s);
    ASSERT_TRUE(a.service->is_owner());
    ASSERT_FALSE(b.service->is_owner());
  }
  EXPECT_EQ(a.contender.acquisitions(), 1U);
  EXPECT_EQ(b.service->after_owner().owner_id(), "a") << "a follower sees who leads";
}

TEST_F(LeaseContendServiceTest, NamesThatTheStoreCannotTakeAreRefusedWithTheBound) {
  LeaseServiceFactory factory{store_, runtime_.runtime()};
  RecordingContender long_mutex{std::string(67, 'x'), "a"};
  RecordingContender long_id{"m", std::string(129, 'x')};
  const auto refusal = [&](MutexContender& contender) -> std::string {
    try {
      static_cast<void>(factory.create_mutex_contend_service(contender));
    } catch (const InvalidArgumentError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(long_mutex), HasSubstr("66"));
  EXPECT_THAT(refusal(long_id), HasSubstr("128"));
}

TEST_F(LeaseContendServiceTest, SaysWhatItDoesAtDebugLevel) {
  Party a{*this, "a"};
  a.service->start();
  runtime_.advance(10s);
  a.service->stop();
  EXPECT_TRUE(logged("starts contending"));
  EXPECT_TRUE(logged("requests the mutex"));
  EXPECT_TRUE(logged("renews its lease"));
  EXPECT_TRUE(logged("releases the mutex"));
}

TEST_F(LeaseContendServiceTest, AFactoryWithoutAStoreOrWithoutAPartOfItsRuntimeIsRefused) {
  EXPECT_THROW((LeaseServiceFactory{nullptr, runtime_.runtime()}), InvalidArgumentError);
  EXPECT_THROW((LeaseServiceFactory{store_, nullptr}), InvalidArgumentError);
  auto incomplete = std::make_shared<Runtime>(*runtime_.runtime());
  incomplete->waiter = nullptr;
  EXPECT_THROW((LeaseServiceFactory{store_, incomplete}), InvalidArgumentError);
}

}  // namespace
}  // namespace simba::engine
