#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "redis/connection/dialer.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "unit/redis/fake_connection.hpp"

namespace simba::redis {

/// Finds what the test says: `endpoint`, or `error` where it is set; later where `held` is.
class FakeSource final : public EndpointSource {
 public:
  void find(EndpointHandler handler) override {
    ++searches;
    if (held) {
      waiting.push_back(std::move(handler));
    } else {
      answer(handler);
    }
  }

  void let_go() {
    held = false;
    for (const auto& handler : std::exchange(waiting, {})) answer(handler);
  }

  Endpoint endpoint{.port = 7000};
  std::unique_ptr<Error> error{};
  bool held = false;
  int searches = 0;
  std::vector<EndpointHandler> waiting{};

 private:
  void answer(const EndpointHandler& handler) const {
    if (error) {
      handler(*error);
    } else {
      handler(endpoint);
    }
  }
};

/// A Dialer whose servers are the test, in virtual time. What is posted to the loop runs with
/// `world.run_ready()`.
struct FakeDialer {
  testkit::ManualRuntime world{};
  FakeConnections connections{};
  std::shared_ptr<FakeSource> source = std::make_shared<FakeSource>();
  std::shared_ptr<ConnectionSettings> settings = std::make_shared<ConnectionSettings>();

  Dialer dialer() {
    return {.runtime = world.runtime(),
            .post = [loop = world.runtime()->callbacks](
                        std::function<void()> task) { loop->execute(std::move(task)); },
            .open = connections.opener(),
            .source = source,
            .settings = settings};
  }
};

}  // namespace simba::redis
