#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"

namespace simba::engine {
namespace {

using namespace std::chrono_literals;
using Owners = std::vector<std::string>;

class LeaseRetrievalServiceTest : public testing::Test {
 protected:
  ~LeaseRetrievalServiceTest() override {
    line_->mend();
    observer_->close();
    line_->close();
  }

  testkit::ManualRuntime runtime_;
  std::shared_ptr<memory::MemoryStore> store_ =
      std::make_shared<memory::MemoryStore>(runtime_.runtime()->clock);
  std::shared_ptr<testkit::FaultStore> line_ = std::make_shared<testkit::FaultStore>(store_);
  LeaseServiceFactory contending_{store_, runtime_.runtime()};
  LeaseServiceFactory observing_{line_, runtime_.runtime()};
  testkit::RecordingContender a_{"m", "a"};
  testkit::RecordingContender b_{"m", "b"};
  std::unique_ptr<MutexContendService> a_service_ = contending_.create_mutex_contend_service(a_);
  std::unique_ptr<MutexContendService> b_service_ = contending_.create_mutex_contend_service(b_);
  testkit::RecordingRetriever retriever_{"m"};
  std::unique_ptr<MutexRetrievalService> observer_ =
      observing_.create_mutex_retrieval_service(retriever_);
};

TEST_F(LeaseRetrievalServiceTest, SeesEveryChangeAndWhoOwns) {
  observer_->start();
  a_service_->start();
  b_service_->start();
  a_service_->stop();
  b_service_->stop();
  runtime_.run_ready();
  EXPECT_EQ(retriever_.owners(), (Owners{"a", "b", ""}));
  EXPECT_FALSE(observer_->has_owner());
}

TEST_F(LeaseRetrievalServiceTest, SeesThePresentOwnerWhenStartedLate) {
  a_service_->start();
  observer_->start();
  runtime_.run_ready();
  EXPECT_EQ(retriever_.owners(), Owners{"a"});
  EXPECT_EQ(observer_->after_owner().fencing_token(), a_service_->fencing_token());
}

TEST_F(LeaseRetrievalServiceTest, NeverContends) {
  observer_->start();
  runtime_.advance(60s);
  EXPECT_FALSE(observer_->has_owner());
  EXPECT_EQ(line_->count(testkit::Operation::acquire), 0U);
}

TEST_F(LeaseRetrievalServiceTest, SeesAChangeWhoseNoticeWasLostWhenTheLeaseWouldHaveEnded) {
  a_service_->start();
  observer_->start();
  line_->drop_notices();
  a_service_->stop();
  b_service_->start();
  runtime_.advance(17s);
  EXPECT_EQ(retriever_.owners(), (Owners{"a", "b"}));
}

TEST_F(LeaseRetrievalServiceTest, LooksAgainAfterTheStoreWasOutOfReach) {
  line_->cut();
  observer_->start();
  runtime_.advance(5s);
  EXPECT_TRUE(runtime_.log().contains("cannot determine the owner"));
  a_service_->start();
  line_->mend();
  runtime_.advance(5s);
  EXPECT_EQ(retriever_.owners(), Owners{"a"});
  EXPECT_TRUE(runtime_.log().contains("the store answers again"));
}

TEST_F(LeaseRetrievalServiceTest, HearsNothingAfterStopAndCanBeStartedAgain) {
  observer_->start();
  a_service_->start();
  observer_->stop();
  runtime_.run_ready();
  EXPECT_EQ(retriever_.owners(), Owners{"a"});
  a_service_->stop();
  runtime_.advance(60s);
  EXPECT_EQ(retriever_.owners(), Owners{"a"});
  EXPECT_EQ(observer_->mutex_state().after().owner_id(), "");
  b_service_->start();
  observer_->start();
  runtime_.run_ready();
  EXPECT_EQ(retriever_.owners(), (Owners{"a", "b"}));
}

TEST_F(LeaseRetrievalServiceTest, ANameThatTheStoreCannotTakeIsRefused) {
  testkit::RecordingRetriever too_long{std::string(67, 'x')};
  EXPECT_THROW(static_cast<void>(observing_.create_mutex_retrieval_service(too_long)),
               InvalidArgumentError);
}

}  // namespace
}  // namespace simba::engine
