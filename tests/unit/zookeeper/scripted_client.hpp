#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "zookeeper/client/client.hpp"

namespace simba::zookeeper {

/// A client whose servers are the test: it sees each request and answers it, or not.
class ScriptedClient final : public Client {
 public:
  struct Request {
    std::string verb{};  ///< "create", "remove", "write", "children", "get", "exists", "sync"
    std::string path{};
    std::string data{};
    Watching watching = Watching::no;
    NodeKind kind = NodeKind::persistent;
    CreateHandler created{};  // also of get, which has the same type
    ChildrenHandler listed{};
    StatHandler seen{};
    DoneHandler done{};
    NodeWrite write{};
  };

  explicit ScriptedClient(EventHandler on_event) : on_event_{std::move(on_event)} {}

  void create(const std::string& path, const std::string& data, NodeKind kind,
              CreateHandler handler) override {
    requests.push_back({.verb = "create",
                        .path = path,
                        .data = data,
                        .kind = kind,
                        .created = std::move(handler)});
  }
  void remove(const std::string& path, DoneHandler handler) override {
    requests.push_back({.verb = "remove", .path = path, .done = std::move(handler)});
  }
  void write(const NodeWrite& write, DoneHandler handler) override {
    requests.push_back(
        {.verb = "write", .path = write.path, .done = std::move(handler), .write = write});
  }
  void children(const std::string& path, Watching watching, ChildrenHandler handler) override {
    requests.push_back(
        {.verb = "children", .path = path, .watching = watching, .listed = std::move(handler)});
  }
  void get(const std::string& path, Watching watching, DataHandler handler) override {
    requests.push_back(
        {.verb = "get", .path = path, .watching = watching, .created = std::move(handler)});
  }
  void exists(const std::string& path, Watching watching, StatHandler handler) override {
    requests.push_back(
        {.verb = "exists", .path = path, .watching = watching, .seen = std::move(handler)});
  }
  void access(const std::string& /*path*/, AccessHandler handler) override {
    handler(Code::unimplemented, false);
  }
  void sync(DoneHandler handler) override {
    requests.push_back({.verb = "sync", .path = {}, .done = std::move(handler)});
  }
  void close() override { closed = true; }

  void tell(const ClientEvent& event) { on_event_(event); }

  std::deque<Request> requests;  ///< that are not answered yet
  bool closed = false;

 private:
  const EventHandler on_event_;
};

class ScriptedConnector final : public Connector {
 public:
  std::shared_ptr<Client> connect(EventHandler on_event) override {
    clients.push_back(std::make_shared<ScriptedClient>(std::move(on_event)));
    return clients.back();
  }
  void wait_until_closed() override { ++waits; }

  std::vector<std::shared_ptr<ScriptedClient>> clients;
  int waits = 0;
};

}  // namespace simba::zookeeper
