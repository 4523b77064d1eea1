#include "zookeeper/admin/examination.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/random.hpp"

namespace simba::zookeeper {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

/// Lets everything be done, on a tree without nodes.
class AgreeingClient final : public Client {
 public:
  void create(const std::string& path, const std::string& /*data*/, NodeKind /*kind*/,
              CreateHandler handler) override {
    handler(Code::ok, path, {});
  }
  void remove(const std::string& /*path*/, DoneHandler handler) override { handler(Code::ok); }
  void write(const NodeWrite& /*write*/, DoneHandler handler) override { handler(Code::ok); }
  void children(const std::string& /*path*/, Watching /*watching*/,
                ChildrenHandler handler) override {
    handler(Code::ok, {});
  }
  void get(const std::string& /*path*/, Watching /*watching*/, DataHandler handler) override {
    handler(Code::no_node, {}, {});
  }
  void exists(const std::string& /*path*/, Watching /*watching*/, StatHandler handler) override {
    handler(Code::no_node, {});
  }
  void access(const std::string& /*path*/, AccessHandler handler) override {
    handler(Code::no_node, false);
  }
  void sync(DoneHandler handler) override { handler(Code::ok); }
  void close() override {}
};

class AgreeingConnector final : public Connector {
 public:
  std::shared_ptr<Client> connect(EventHandler on_event) override {
    on_event(Connected{.session = 1, .timeout = 10s});
    return std::make_shared<AgreeingClient>();
  }
  void wait_until_closed() override {}
};

TEST(ZooKeeperExamination, SaysThatTheTickOfTheServersIsUncheckedOverTls) {
  Settings settings;
  settings.hosts = "127.0.0.1:1";
  settings.session_timeout = 10s;
  settings.connection_timeout = 1s;
  settings.tls.mode = TlsMode::verify_ca;
  ClientConsole console{std::make_shared<AgreeingConnector>(), "127.0.0.1:1", 1s};
  const auto random = make_seeded_random(1);
  const auto report = examine_servers(console, settings, *random);
  std::vector<std::string> notes;
  for (const auto& finding : report.findings) {
    EXPECT_NE(finding.weight, engine::Finding::Weight::problem) << finding.text;
    if (finding.weight == engine::Finding::Weight::note) notes.push_back(finding.text);
  }
  EXPECT_THAT(notes, Contains(AllOf(HasSubstr("TLS"), HasSubstr("tickTime"),
                                    HasSubstr("at most 2000 ms"))));
}

}  // namespace
}  // namespace simba::zookeeper
