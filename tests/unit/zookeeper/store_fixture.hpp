#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simba/engine/lease_store.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "unit/zookeeper/scripted_client.hpp"
#include "zookeeper/settings.hpp"
#include "zookeeper/zookeeper_store.hpp"

namespace simba::zookeeper {

using namespace std::chrono_literals;

/// The store over a scripted client, in virtual time. Its mutex is "m", its contender "me".
class StoreFixture : public testing::Test {
 protected:
  static constexpr std::int64_t session_id = 77;
  static constexpr std::chrono::milliseconds timeout{10'000};
  static constexpr auto parent = "/simba/m";

  using Request = ScriptedClient::Request;
  using Answers = std::vector<engine::LeaseAnswer>;

  /// Requests without an answer hold the store, which holds the client.
  ~StoreFixture() override {
    for (const auto& made : connector->clients) std::exchange(made->requests, {});
  }

  void use(const ZooKeeperOptions& options) {
    attachment.reset();
    store = std::make_shared<ZooKeeperStore>(checked_settings(options), connector, world.runtime());
    attachment = store->attach();
  }

  static ZooKeeperOptions options() {
    ZooKeeperOptions options;
    options.session_timeout = timeout;
    options.tick_time = 2s;
    return options;
  }

  void SetUp() override { use(options()); }

  ScriptedClient& client() { return *connector->clients.back(); }

  /// Takes the oldest request of this kind that is not answered; fails where there is none.
  Request take(const std::string& verb) {
    auto& requests = client().requests;
    for (auto it = requests.begin(); it != requests.end(); ++it) {
      if (it->verb != verb) continue;
      Request request = *it;
      requests.erase(it);
      return request;
    }
    ADD_FAILURE() << "no " << verb << " was sent";
    return {.verb = verb,
            .created = [](auto&&...) {},
            .listed = [](auto&&...) {},
            .seen = [](auto&&...) {},
            .done = [](auto&&...) {}};
  }
  bool sent(const std::string& verb) {
    for (const Request& request : client().requests) {
      if (request.verb == verb) return true;
    }
    return false;
  }

  void connect() {
    client().tell(Connected{.session = session_id, .timeout = timeout});
    take("sync").done(Code::ok);
  }
  /// Breaks the connection: what is under way is lost.
  void disconnect() {
    const auto lost = std::exchange(client().requests, {});
    for (const Request& request : lost) {
      if (request.created) request.created(Code::connection_loss, {}, {});
      if (request.listed) request.listed(Code::connection_loss, {});
      if (request.seen) request.seen(Code::connection_loss, {});
      if (request.done) request.done(Code::connection_loss);
    }
    client().tell(Disconnected{});
  }

  static engine::LeaseRequest request(const std::string& contender_id = "me") {
    return {.mutex = "m", .contender_id = contender_id, .ttl = 6s, .transition = 4s};
  }
  std::shared_ptr<Answers> acquire() {
    auto answers = std::make_shared<Answers>();
    store->acquire(request(), [answers](engine::LeaseAnswer a) { answers->push_back(a); });
    return answers;
  }
  std::shared_ptr<Answers> guard() {
    auto answers = std::make_shared<Answers>();
    store->guard(request(), [answers](engine::LeaseAnswer a) { answers->push_back(a); });
    return answers;
  }
  std::shared_ptr<Answers> release(FencingToken token) {
    auto answers = std::make_shared<Answers>();
    store->release(request(), token, [answers](engine::LeaseAnswer a) { answers->push_back(a); });
    return answers;
  }
  void watch() {
    subscription = store->watch(
        request(), [this](const engine::Notice& notice) { notices.push_back(notice); });
  }

  static NodeStat stat(std::int64_t zxid, std::int64_t session = session_id) {
    return {.created_zxid = zxid, .created_at = StoreTime{5'000ms}, .session = session};
  }
  static std::string name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  /// Answers the creation under way; the path of the new node.
  std::string answer_create(const std::string& sequence, std::int64_t zxid) {
    const Request create = take("create");
    const std::string path = create.path + sequence;
    create.created(Code::ok, path, stat(zxid));
    return path;
  }

  /// Acquired at once, by a node with this zxid; its path.
  std::string own(std::int64_t zxid = 100) {
    const auto answers = acquire();
    if (!client().closed && client().requests.empty()) connect();
    const std::string path = answer_create("0000000001", zxid);
    take("children").listed(Code::ok, {name(path)});
    take("get").created(Code::ok, "me", stat(zxid));
    EXPECT_EQ(answers->size(), 1U);
    if (!answers->empty()) {
      EXPECT_NE(answers->front().record(), nullptr);
    }
    return path;
  }

  testkit::ManualRuntime world;
  std::shared_ptr<ScriptedConnector> connector = std::make_shared<ScriptedConnector>();
  std::shared_ptr<ZooKeeperStore> store;
  std::shared_ptr<void> attachment;
  std::unique_ptr<engine::Watch> subscription;
  std::vector<engine::Notice> notices;
};

}  // namespace simba::zookeeper
