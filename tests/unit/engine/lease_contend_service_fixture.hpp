#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"

namespace simba::engine {

using namespace std::chrono_literals;
using testkit::FaultStore;
using testkit::ManualRuntime;
using testkit::RecordingContender;
using testkit::RecordingHooks;

/// Services over the memory store, each with a connection of its own, in virtual time.
class LeaseContendServiceTest : public testing::Test {
 protected:
  struct Party {
    Party(LeaseContendServiceTest& test, const std::string& id, RecordingHooks hooks = {},
          const ContendServiceOptions& options = {})
        : line{std::make_shared<FaultStore>(test.store_)},
          factory{line, test.runtime_.runtime(), test.options_},
          contender{"m", id, std::move(hooks)},
          service{factory.create_mutex_contend_service(contender, options)} {}
    ~Party() {
      line->mend();
      service->close();
      line->close();
    }
    Party(const Party&) = delete;
    Party& operator=(const Party&) = delete;

    /// Its first request of this kind stays on its way to the store until
    /// `line->release_requests()`: stop() returns without it.
    void start_and_stop_holding(testkit::Operation operation) {
      line->next(operation, testkit::Fault::hold_request());
      service->start();
      service->stop();
    }

    /// Puts a new service of the same id in the place of the one before, which is gone then.
    void start_successor() {
      service = factory.create_mutex_contend_service(contender);
      service->start();
    }

    std::shared_ptr<FaultStore> line;
    LeaseServiceFactory factory;
    RecordingContender contender;
    std::unique_ptr<MutexContendService> service;
  };

  bool logged(const std::string& part) const { return runtime_.log().contains(part); }

  ManualRuntime runtime_;
  std::shared_ptr<memory::MemoryStore> store_ =
      std::make_shared<memory::MemoryStore>(runtime_.runtime()->clock);
  ContentionOptions options_;
};

}  // namespace simba::engine
