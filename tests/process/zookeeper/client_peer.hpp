#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "simba/core/runtime.hpp"
#include "support/patience.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"
#include "zookeeper/client/c_connector.hpp"
#include "zookeeper/client/client.hpp"

namespace simba::zookeeper::test {

using namespace std::chrono_literals;

inline Settings settings_of(const std::string& hosts) {
  Settings settings;
  settings.hosts = hosts;
  settings.session_timeout = support::scaled(10s);
  settings.connection_timeout = support::scaled(5s);
  return settings;
}

inline Settings settings_of(std::uint16_t port) {
  return settings_of(fmt::format("127.0.0.1:{}", port));
}

inline Settings settings_of(const support::Location& location) {
  return settings_of(support::connect_string(location));
}

inline Settings with_user(Settings settings, const std::string& user, NodeAcl acl) {
  settings.digest_user = user;
  settings.digest_password = Secret{"a-password"};
  settings.acl = acl;
  return settings;
}

/// What a request brought.
struct Answer {
  Code code = Code::refused;
  std::string text{};  ///< path or data
  NodeStat stat{};
  std::vector<std::string> names{};
};

/// A client with the answers as futures, and with all that it is told of.
class Peer {
 public:
  explicit Peer(const Settings& settings, std::shared_ptr<Logger> log = make_null_logger())
      : connector{make_c_connector(settings, make_runtime({.log = std::move(log)}))} {
    client = connector->connect([told = told_](const ClientEvent& event) { told->add(event); });
  }
  ~Peer() {
    if (client) client->close();
    if (connector) connector->wait_until_closed();
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// "connected", "lost", "expired", "failed", "created /a", "removed /a", ...
  std::vector<std::string> events() const { return told_->texts(); }

  bool eventually_told(const std::vector<std::string>& texts) const {
    return support::eventually([&] { return events() == texts; });
  }
  bool connects() const { return eventually_told({"connected"}); }

  /// The last one of its type, which must have been told.
  template <typename Event>
  Event last() const {
    return told_->template last<Event>();
  }

  using Future = std::future<Answer>;

  Future create(const std::string& path, const std::string& data = "",
                NodeKind kind = NodeKind::persistent) {
    auto [future, promise] = make();
    client->create(path, data, kind,
                   [p = promise](Code code, const std::string& text, const NodeStat& stat) {
                     p->set_value({.code = code, .text = text, .stat = stat});
                   });
    return std::move(future);
  }
  Future remove(const std::string& path) {
    auto [future, promise] = make();
    client->remove(path, [p = promise](Code code) { p->set_value({.code = code}); });
    return std::move(future);
  }
  Future write(const NodeWrite& write) {
    auto [future, promise] = make();
    client->write(write, [p = promise](Code code) { p->set_value({.code = code}); });
    return std::move(future);
  }
  Future children(const std::string& path, Watching watching = Watching::no) {
    auto [future, promise] = make();
    client->children(path, watching,
                     [p = promise](Code code, const std::vector<std::string>& names) {
                       p->set_value({.code = code, .names = names});
                     });
    return std::move(future);
  }
  Future get(const std::string& path, Watching watching = Watching::no) {
    auto [future, promise] = make();
    client->get(path, watching,
                [p = promise](Code code, const std::string& text, const NodeStat& stat) {
                  p->set_value({.code = code, .text = text, .stat = stat});
                });
    return std::move(future);
  }
  Future exists(const std::string& path, Watching watching = Watching::no) {
    auto [future, promise] = make();
    client->exists(path, watching, [p = promise](Code code, const NodeStat& stat) {
      p->set_value({.code = code, .stat = stat});
    });
    return std::move(future);
  }
  Future sync() {
    auto [future, promise] = make();
    client->sync([p = promise](Code code) { p->set_value({.code = code}); });
    return std::move(future);
  }

  std::shared_ptr<Connector> connector;
  std::shared_ptr<Client> client;

 private:
  class Told {
   public:
    void add(const ClientEvent& event) {
      const std::lock_guard lock{mutex_};
      events_.push_back(event);
    }
    std::vector<std::string> texts() const {
      const std::lock_guard lock{mutex_};
      std::vector<std::string> result;
      for (const auto& event : events_) result.push_back(text_of(event));
      return result;
    }
    template <typename Event>
    Event last() const {
      const std::lock_guard lock{mutex_};
      for (auto each = events_.rbegin(); each != events_.rend(); ++each) {
        if (const auto* found = std::get_if<Event>(&*each)) return *found;
      }
      throw std::logic_error{"no such event was told"};
    }

   private:
    static std::string text_of(const ClientEvent& event) {
      if (std::holds_alternative<Connected>(event)) return "connected";
      if (std::holds_alternative<Disconnected>(event)) return "lost";
      if (std::holds_alternative<Expired>(event)) return "expired";
      if (std::holds_alternative<Failed>(event)) return "failed";
      static constexpr const char* kinds[] = {"created", "removed", "changed", "children"};
      const auto& node = std::get<NodeEvent>(event);
      return fmt::format("{} {}", kinds[static_cast<int>(node.kind)], node.path);
    }

    mutable std::mutex mutex_;
    std::vector<ClientEvent> events_;
  };

  static std::pair<Future, std::shared_ptr<std::promise<Answer>>> make() {
    auto promise = std::make_shared<std::promise<Answer>>();
    auto future = promise->get_future();
    return {std::move(future), std::move(promise)};
  }

  const std::shared_ptr<Told> told_ = std::make_shared<Told>();
};

/// The answer; throws where none comes.
inline Answer wait(Peer::Future future) {
  if (future.wait_for(support::scaled(60s)) != std::future_status::ready) {
    throw std::runtime_error{"a request is not answered"};
  }
  return future.get();
}

inline Code code_of(Peer::Future future) { return wait(std::move(future)).code; }

}  // namespace simba::zookeeper::test
