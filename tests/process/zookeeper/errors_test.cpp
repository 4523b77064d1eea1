#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/zookeeper/client_peer.hpp"
#include "process/zookeeper/contenders.hpp"
#include "simba/core/error.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/safety.hpp"
#include "support/supervisor/product.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::now;
using support::scaled;
using support::within;
using support::ZooKeeperServer;
using ::testing::HasSubstr;

/// Of no use to anyone, but easy to find in a log.
const std::string wrong_password = "wrong-" + std::string{support::test_password};

/// A factory with one contender, and all that it was told. No password may be in its log.
class Attempt {
 public:
  explicit Attempt(ZooKeeperOptions options, const std::string& mutex = "m") {
    options.runtime = make_runtime({.log = log_});
    options.contention.retry_refused = 100ms;
    factory_ = make_zookeeper_factory(options);
    contending_ = std::make_unique<Contending>(*factory_, mutex);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    contending_->service->close();
    contending_.reset();
    factory_.reset();
    EXPECT_FALSE(log_->contains(support::test_password)) << log_->text();
  }

  /// Waits for an acquisition to fail as expected, and looks whether it was logged.
  void expect_error(ErrorKind kind, const std::string& part) {
    std::string told;
    EXPECT_TRUE(eventually([&] {
      told.clear();
      for (const auto& event : contending_->contender.events()) {
        const auto* failed = std::get_if<AcquireFailed>(&event);
        if (failed == nullptr) continue;
        const std::string text = failed->error.what();
        told += fmt::format("{}: {}\n", to_string(failed->error.kind()), text);
        if (failed->error.kind() == kind && text.find(part) != std::string::npos) return true;
      }
      return false;
    })) << "no such error: "
        << part << "\nbut:\n"
        << told;
    EXPECT_TRUE(eventually([&] { return log_->contains(part); })) << log_->text();
    EXPECT_EQ(told.find(support::test_password), std::string::npos) << told;
  }

  Contending& operator*() { return *contending_; }
  Contending* operator->() { return contending_.get(); }
  testkit::CapturingLogger& log() { return *log_; }
  MutexServiceFactory& factory() { return *factory_; }

 private:
  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  std::unique_ptr<MutexServiceFactory> factory_;
  std::unique_ptr<Contending> contending_;
};

/// On the server that all tests share, below a node of its own.
class ZooKeeperErrors : public ::testing::Test {
 protected:
  ZooKeeperOptions options() const {
    auto result = options_of(support::connect_string(location_));
    result.base_path = base_;
    return result;
  }

  ZooKeeperOptions as_user(const std::string& password, NodeAcl acl = NodeAcl::unset) const {
    auto result = options();
    result.digest_user = "simba";
    result.digest_password = Secret{password};
    result.acl = acl;
    return result;
  }

  const support::Location location_ = support::zookeeper_location();
  const std::string base_ = "/" + unique("errors");
  const std::string password_{support::test_password};
  Console console_{location_};
};

TEST_F(ZooKeeperErrors, AWrongPasswordIsRefusedByTheNodeThatIsNamed) {
  Attempt owner{as_user(password_, NodeAcl::creator)};
  ASSERT_TRUE(owner->owns());

  Attempt intruder{as_user(wrong_password, NodeAcl::creator)};
  intruder.expect_error(ErrorKind::permission, base_ + "/m");
  Attempt stranger{options()};
  stranger.expect_error(ErrorKind::permission, base_ + "/m");
  owner->service->stop();
  EXPECT_FALSE(within(500ms, [&] {
    return intruder->contender.acquisitions() + stranger->contender.acquisitions() > 0;
  }));
}

TEST_F(ZooKeeperErrors, NodesOfTheirCreatorServeThoseWithThePasswordAndNobodyElse) {
  const auto with = as_user(password_, NodeAcl::creator);
  Attempt owner{with};
  ASSERT_TRUE(owner->owns()) << owner.log().text();
  Attempt waiter{with};
  ASSERT_TRUE(eventually([&] { return !waiter->contender.owners().empty(); }))
      << waiter.log().text();
  EXPECT_EQ(waiter->contender.owners().back(), owner->service->contender_id());
  EXPECT_THROW(console_.children(base_ + "/m"), std::runtime_error) << "a stranger may look";
  EXPECT_THROW(console_.remove(base_ + "/m"), std::runtime_error) << "a stranger may remove";

  owner->service->stop();
  EXPECT_TRUE(waiter->contender.wait_for_acquisitions(1, scaled(2s)));
  waiter->service->stop();
}

TEST_F(ZooKeeperErrors, WithCredentialsNobodyElseRemovesTheNodeOfAnOwner) {
  Attempt owner{as_user(password_)};
  ASSERT_TRUE(owner->owns()) << owner.log().text();
  Attempt same{as_user(password_)};
  ASSERT_TRUE(eventually([&] { return !same->contender.owners().empty(); })) << same.log().text();
  Settings known = settings_of(location_);
  known.digest_user = "simba";
  known.digest_password = Secret{password_};
  Peer friendly{known};
  Peer stranger{settings_of(location_)};
  ASSERT_TRUE(friendly.connects());
  ASSERT_TRUE(stranger.connects());
  const auto nodes = wait(friendly.children(base_ + "/m")).names;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(code_of(stranger.children(base_ + "/m")), Code::no_auth);
  for (const std::string& node : nodes) {
    EXPECT_EQ(code_of(stranger.remove(base_ + "/m/" + node)), Code::no_auth);
  }
  EXPECT_TRUE(owner->service->is_owner());
}

TEST_F(ZooKeeperErrors, OpenNodesAreAskedForAndCanBeRemovedByEveryone) {
  Attempt owner{as_user(password_, NodeAcl::open)};
  ASSERT_TRUE(owner->owns()) << owner.log().text();
  const auto nodes = console_.children(base_ + "/m");
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_TRUE(console_.remove(base_ + "/m/" + nodes[0]));
}

TEST_F(ZooKeeperErrors, NodesThatOthersMayReadTellThemTheOwnerAndNothingElse) {
  Attempt owner{as_user(password_, NodeAcl::creator_others_read)};
  ASSERT_TRUE(owner->owns());
  Attempt stranger{options()};
  testkit::RecordingRetriever retriever{"m"};
  const auto observer = stranger.factory().create_mutex_retrieval_service(retriever);
  observer->start();
  EXPECT_TRUE(retriever.wait_for_owner(owner->service->contender_id(), scaled(5s)));
  stranger.expect_error(ErrorKind::permission, base_ + "/m");
  const auto nodes = console_.children(base_ + "/m");
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_THROW(console_.remove(base_ + "/m/" + nodes[0]), std::runtime_error);
}

TEST_F(ZooKeeperErrors, TlsIsRefusedWithWhatToDo) {
  auto encrypted = options();
  encrypted.tls.mode = TlsMode::verify;
  try {
    make_zookeeper_factory(encrypted);
    FAIL() << "no library verifies the host";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("set `tls.mode` to"));
  }
}

TEST_F(ZooKeeperErrors, ANameThatIsNoNodeNameIsRefused) {
  const auto factory = make_zookeeper_factory(options());
  for (const std::string name : {"a/b", "/", ".", "..", "a\nb", "\x7f", "\xF0\x9F\x98\x80"}) {
    testkit::RecordingContender contender{name};
    EXPECT_THROW(static_cast<void>(factory->create_mutex_contend_service(contender)),
                 InvalidArgumentError)
        << name;
    testkit::RecordingRetriever retriever{name};
    EXPECT_THROW(static_cast<void>(factory->create_mutex_retrieval_service(retriever)),
                 InvalidArgumentError)
        << name;
  }
  for (const std::string name : {"...", "a.b", "gr\xC3\xBC\xC3\x9F", "a b", "latch-0000000001"}) {
    const Contending contending{*factory, name};
    EXPECT_TRUE(contending.owns()) << name;
    EXPECT_EQ(console_.children(base_ + "/" + name).size(), 1U) << name;
  }
}

TEST_F(ZooKeeperErrors, AChrootThatIsMissingIsMade) {
  auto with = options();
  with.connect_string += base_ + "/of/someone";
  with.base_path = "/simba";
  Attempt attempt{with};
  ASSERT_TRUE(attempt->owns()) << attempt.log().text();
  EXPECT_EQ(console_.line(base_ + "/of/someone/simba/m"),
            std::vector{attempt->service->contender_id()});
}

TEST_F(ZooKeeperErrors, AMutexOrBasePathThatIsRemovedWhileNobodyContendsIsMadeAgain) {
  Attempt attempt{options()};
  ASSERT_TRUE(attempt->owns());
  attempt->service->stop();
  ASSERT_TRUE(console_.remove(base_ + "/m"));
  ASSERT_TRUE(console_.remove(base_));
  attempt->service->start();
  EXPECT_TRUE(attempt->owns(2)) << attempt.log().text();
}

TEST_F(ZooKeeperErrors, AHostThatCannotBeFoundIsNamed) {
  auto nowhere = options();
  nowhere.connect_string = "no-such-host.invalid:2181";
  Attempt{nowhere}.expect_error(ErrorKind::unavailable, "no-such-host.invalid:2181");
}

TEST(ZooKeeperServerErrors, AServerThatIsNotThereIsNamedInTimeAndUsedWhenItComes) {
  ZooKeeperServer server;
  server.stop();
  auto options = options_of(server.port());
  options.connection_timeout = scaled(700ms);
  options.digest_user = "simba";
  options.digest_password = Secret{std::string{support::test_password}};
  const auto begin = now();
  Attempt attempt{options};

  attempt.expect_error(ErrorKind::unavailable, "running, reachable");
  EXPECT_LE(now() - begin, options.connection_timeout + scaled(1s));
  attempt.expect_error(ErrorKind::unavailable, fmt::format("127.0.0.1:{}", server.port()));

  server.start();
  const auto started = now();
  EXPECT_TRUE(attempt->owns()) << attempt.log().text();
  EXPECT_LT(now() - started, short_session) << "it takes long to come back";
}

/// An owner, one that waits, and a server that sets the session time-out itself.
class ZooKeeperSessionTimeouts : public ::testing::Test {
 protected:
  /// Asks for what `options` say, is given `given`, and holds for several sessions; cut off, it
  /// steps down before the other one owns.
  static void expect_works(ZooKeeperOptions options, const std::string& argument,
                           std::chrono::milliseconds given) {
    const ZooKeeperServer server{{argument}};
    options.connect_string = fmt::format("127.0.0.1:{}", server.port());
    Proxied mine{server.port(), options};
    options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
    const auto other = make_zookeeper_factory(options);
    const Contending owner{*mine.factory, "m"};
    ASSERT_TRUE(owner.owns());
    const Contending waiter{*other, "m"};
    EXPECT_TRUE(eventually([&] {
      return mine.log->contains(fmt::format("set the session timeout to {} ms", given.count()));
    })) << mine.log->text();
    wait_until_after(now(), given * 3);
    ASSERT_TRUE(owner.service->is_owner()) << mine.log->text();
    EXPECT_EQ(owner.contender.releases(), 0U) << mine.log->text();
    ASSERT_EQ(waiter.contender.acquisitions(), 0U);

    mine.proxy.black_hole();
    const auto begin = now();
    bool both = false;
    EXPECT_TRUE(within(given + 1s, [&] {
      const bool waiter_owns = waiter.service->is_owner();
      both = both || (waiter_owns && owner.service->is_owner());
      return waiter_owns;
    }));
    EXPECT_FALSE(both) << support::safety_violation << "two owners";
    EXPECT_GT(now() - begin, given / 2);
  }
};

TEST_F(ZooKeeperSessionTimeouts, AShorterOneThanAskedForIsKept) {
  auto options = options_of(1);
  options.session_timeout = scaled(10s);
  options.tick_time = support::zookeeper_tick;
  const auto given = scaled(2s);
  expect_works(options, fmt::format("maxSessionTimeout={}", given.count()), given);
}

TEST_F(ZooKeeperSessionTimeouts, AShorterOneIsKeptByAContenderThatKnowsNeitherItNorTheTick) {
  ZooKeeperOptions options;
  const auto given = scaled(2s);
  expect_works(options, fmt::format("maxSessionTimeout={}", given.count()), given);
}

TEST_F(ZooKeeperSessionTimeouts, ALongerOneThanAskedForIsKept) {
  auto options = options_of(1);
  options.session_timeout = scaled(1s);
  options.tick_time = support::zookeeper_tick;
  const auto given = scaled(3s);
  expect_works(options, fmt::format("minSessionTimeout={}", given.count()), given);
}

}  // namespace
}  // namespace simba::zookeeper::test
