#include "zookeeper/client/c_connector.hpp"

#include <chrono>
#include <utility>

#include "core/threads/on_demand_thread.hpp"
#include "zookeeper/client/c_library.hpp"
#include "zookeeper/client/c_session.hpp"

namespace simba::zookeeper {
namespace {

using namespace std::chrono_literals;

/// What it takes at most to end a session: a little for what is under way, and in the library 3 s
/// to send and 1.5 s for the answer.
constexpr auto longest_end = 5s;

class CConnector final : public Connector {
 public:
  CConnector(const Settings& settings, std::shared_ptr<const Runtime> runtime)
      : settings_{std::make_shared<const Settings>(settings)},
        runtime_{std::move(runtime)},
        thread_{std::make_shared<detail::OnDemandThread>("simba-zk", "ZooKeeper: internal error",
                                                         runtime_->log)} {}

  std::shared_ptr<Client> connect(EventHandler on_event) override {
    return CSession::begin(settings_, std::move(on_event), thread_, runtime_->log);
  }

  void wait_until_closed() override {
    if (thread_->wait(settings_->connection_timeout + longest_end)) return;
    runtime_->log->log(LogLevel::warn,
                       "ZooKeeper: could not end a session in time, probably because a host name "
                       "lookup is in progress; it ends when the lookup finishes");
  }

 private:
  // constant after construction
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<detail::OnDemandThread> thread_;
};

}  // namespace

std::shared_ptr<Connector> make_c_connector(const Settings& settings,
                                            std::shared_ptr<const Runtime> runtime) {
  check_tls(settings.tls);
  return std::make_shared<CConnector>(settings, std::move(runtime));
}

}  // namespace simba::zookeeper
