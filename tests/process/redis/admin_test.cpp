// What tools do with a Redis store.
#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/admin_checks.hpp"
#include "process/redis/console.hpp"
#include "process/redis/fixed_reply_server.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/resp_reader.hpp"
#include "simba/redis/redis_admin.hpp"
#include "simba/redis/redis_factory.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/servers.hpp"

namespace simba::admin_test {
namespace {

using redis::make_redis_admin;
using redis::RedisOptions;
using redis::test::Console;
using redis::test::owner_key;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// Who may do everything.
RedisOptions as_admin(RedisOptions options) {
  options.user = "admin";
  return options;
}

RedisOptions with_short_lease(RedisOptions options) {
  options.contention = short_contention();
  options.runtime = quiet_runtime();
  return options;
}

struct RedisAdmin : testing::Test {
  const support::Location location = support::redis_location();
  const RedisOptions options = support::redis_options(location);
  const std::unique_ptr<engine::StoreAdmin> admin =
      make_redis_admin(as_admin(options), quiet_runtime());
  Console console{location};
};

TEST_F(RedisAdmin, ShowsWhoOwnsAMutex) {
  const auto factory = redis::make_redis_factory(options);
  expect_owner_is_seen(*admin, *factory, true);
}

TEST_F(RedisAdmin, EvictsAnOwnerAndTheWaiterGetsTheMutex) {
  const auto factory = redis::make_redis_factory(with_short_lease(options));
  const auto other = redis::make_redis_factory(with_short_lease(options));
  expect_eviction_hands_over(*admin, *factory, *other);
}

TEST_F(RedisAdmin, ListsThoseWhoWaitInTheirOrder) {
  const auto factory = redis::make_redis_factory(options);
  expect_waiting_are_listed_in_order(*admin, *factory);
}

TEST_F(RedisAdmin, LeavesFreeMutexesAlone) {
  const auto factory = redis::make_redis_factory(options);
  expect_free_mutexes_stay_free(*admin, *factory);
}

TEST_F(RedisAdmin, RefusesNamesOutOfBounds) { expect_bad_names_are_refused(*admin); }

TEST_F(RedisAdmin, ListsAThousandMutexes) {
  const auto store = redis::make_redis_store(options, quiet_runtime());
  const auto attached = store->attach();
  expect_thousand_are_listed(*admin, *store);
}

TEST_F(RedisAdmin, KeepsTheNewestTokenOfAFreeMutex) {
  const auto factory = redis::make_redis_factory(options);
  const std::string mutex = unique("token");
  FencingToken token = 0;
  {
    const Member owner{*factory, mutex, "owner-1"};
    ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
    token = owner.contender.tokens().front();
    EXPECT_EQ(admin->find(mutex).fencing_token, token);
  }
  EXPECT_TRUE(support::eventually([&] { return admin->find(mutex).owner_id.empty(); }));
  EXPECT_EQ(admin->find(mutex).fencing_token, token);
  const auto all = admin->list();
  ASSERT_NE(entry_of(all, mutex), nullptr);
  EXPECT_EQ(entry_of(all, mutex)->fencing_token, token);
}

TEST_F(RedisAdmin, EvictsAnOwnerOfTheJvmLibrary) {
  const std::string mutex = unique("jvm");
  const std::string id = "0:1@2@@odd@10.0.0.1";
  console.ask({"SET", owner_key(mutex), id, "PX", "60000"});
  const MutexEntry found = admin->find(mutex);
  EXPECT_EQ(found.owner_id, id);
  EXPECT_EQ(found.fencing_token, 0U);
  EXPECT_GT(found.left, 50s);
  EXPECT_EQ(admin->evict(mutex).owner_id, id);
  EXPECT_EQ(console.value({"EXISTS", owner_key(mutex)}), "0");
}

TEST_F(RedisAdmin, EvictsAKeyThatNeverExpires) {
  const std::string mutex = unique("hand");
  console.ask({"SET", owner_key(mutex), "someone"});
  EXPECT_FALSE(admin->find(mutex).left);
  EXPECT_EQ(admin->evict(mutex).owner_id, "someone");
  EXPECT_EQ(admin->find(mutex).owner_id, "");
}

TEST_F(RedisAdmin, AKeyThatIsNoMutexHidesNoOthers) {
  const std::string mutex = unique("strange");
  console.ask({"LPUSH", owner_key(mutex), "x"});
  EXPECT_EQ(entry_of(admin->list(), mutex), nullptr);
  EXPECT_NE(error_of([&] { admin->find(mutex); }).kind(), ErrorKind::unavailable);
  console.ask({"DEL", owner_key(mutex)});
}

TEST_F(RedisAdmin, AFenceThatMakesNoSenseHidesNoOtherMutexes) {
  const std::string good = unique("good");
  console.ask({"SET", owner_key(good), "ann", "PX", "600000"});
  for (const char* field : {"ttl", "instance"}) {
    const std::string bad = unique("bad");
    console.ask({"SET", owner_key(bad), "mallory", "PX", "600000"});
    console.ask({"HSET", owner_key(bad) + ":fence", "token", "7", "owner", "mallory", "ttl", "9000",
                 "transition", "1000", "instance", "1", field, "soon"});
    const auto log = std::make_shared<testkit::CapturingLogger>();
    const auto listing = make_redis_admin(as_admin(options), runtime_with(log));
    expect_unreadable_is_left_out(*listing, *log, good, bad);
    console.ask({"DEL", owner_key(bad), owner_key(bad) + ":fence"});
  }
}

TEST_F(RedisAdmin, NeedsNoPreparation) { EXPECT_THAT(admin->init(), HasSubstr("nothing to do")); }

TEST_F(RedisAdmin, TellsVersionTimeAndWhatIsNotSafe) {
  const auto report = admin->examine();
  EXPECT_THAT(report.server, testing::MatchesRegex("(Redis|Valkey) [0-9]+\\.[0-9]+\\..*"));
  EXPECT_LT(offset_of(report), support::scaled(5s));
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(warnings(report),
              ElementsAre(HasSubstr("appendonly"), HasSubstr("user admin may use every channel")));
  EXPECT_THAT(notes(report), IsEmpty());
}

TEST_F(RedisAdmin, LeavesNothingBehind) {
  admin->examine();
  EXPECT_EQ(console.value({"EXISTS", "simba:{simba-doctor}"}), "0");
}

TEST_F(RedisAdmin, SaysWhichRightsToolsNeed) {
  const auto plain = make_redis_admin(options, quiet_runtime());
  const auto report = plain->examine();
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(notes(report),
              ElementsAre(HasSubstr("+info"), HasSubstr("+acl|list"), HasSubstr("+scan")));
  const Error error = error_of([&] { plain->list(); });
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_THAT(error.what(), HasSubstr("+scan"));
  EXPECT_EQ(plain->find(unique("any")).owner_id, "") << "takes no more rights than the store";
}

TEST_F(RedisAdmin, WarnsOfUsersWhoMayUseEveryChannel) {
  const std::string user = unique("spy");
  console.ask({"ACL", "SETUSER", user, "on", ">" + location.password, "&*", "+psubscribe"});
  EXPECT_THAT(warnings(admin->examine()), Contains(HasSubstr("user " + user + " may use every")));
  for (const char* category : {"+@fast", "+@slow"}) {
    console.ask({"ACL", "SETUSER", user, "-@all", category});
    EXPECT_THAT(warnings(admin->examine()), Contains(HasSubstr("user " + user + " may use every")));
  }
  console.ask({"ACL", "SETUSER", user, "resetchannels", "-@all"});
  EXPECT_THAT(warnings(admin->examine()), Not(Contains(HasSubstr(user))));
  console.ask({"ACL", "DELUSER", user});
  const auto plain = make_redis_admin(options, quiet_runtime());
  EXPECT_THAT(warnings(plain->examine()), Not(Contains(HasSubstr("every channel"))));
}

TEST_F(RedisAdmin, WarnsOfUsersWhoReadTheSecretsOfWaiters) {
  const std::string user = unique("reader");
  console.ask({"ACL", "SETUSER", user, "on", ">" + location.password, "+monitor"});
  EXPECT_THAT(warnings(admin->examine()), Contains(HasSubstr("ACL SETUSER " + user + " -monitor")));
  console.ask({"ACL", "SETUSER", user, "~simba:*"});
  EXPECT_THAT(warnings(admin->examine()), Not(Contains(HasSubstr(user))));
  console.ask({"ACL", "DELUSER", user});
}

TEST_F(RedisAdmin, NamesTheRightsThatAreMissing) {
  const std::string user = unique("user");
  console.ask({"ACL", "SETUSER", user, "on", ">" + location.password, "~simba:*", "&simba:*",
               "+@all", "-zadd", "-pubsub|numsub", "-unsubscribe"});
  auto limited = options;
  limited.user = user;
  const auto report = make_redis_admin(limited, quiet_runtime())->examine();
  EXPECT_THAT(problems(report), ElementsAre(HasSubstr("+zadd"), HasSubstr("+pubsub|numsub"),
                                            HasSubstr("+unsubscribe")));
  for (const Finding& finding : report.findings) {
    if (finding.weight == Finding::Weight::problem) {
      EXPECT_EQ(finding.kind, ErrorKind::permission);
    }
  }
  console.ask({"ACL", "SETUSER", user, "resetkeys", "~other:*", "+@all"});
  EXPECT_THAT(problems(make_redis_admin(limited, quiet_runtime())->examine()),
              Contains(HasSubstr("~simba:*")));
  console.ask({"ACL", "DELUSER", user});
}

TEST_F(RedisAdmin, AWrongPasswordIsRefusedAndNotShown) {
  auto wrong = options;
  wrong.password = Secret{"wrong-password-4711"};
  const auto other = make_redis_admin(wrong, quiet_runtime());
  const Error error = error_of([&] { other->examine(); });
  EXPECT_EQ(error.kind(), ErrorKind::authentication);
  EXPECT_THAT(error.what(), Not(HasSubstr("4711")));
}

TEST(RedisAdminOutage, IsToldInTimeAndOverWhenTheServerIsBack) {
  support::RedisServer server{support::Tls::off,
                              {"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}};
  const auto admin =
      make_redis_admin(as_admin(support::redis_options(server.location())), quiet_runtime());
  EXPECT_THAT(admin->list(), IsEmpty());
  EXPECT_THAT(warnings(admin->examine()),
              ElementsAre(HasSubstr("maxmemory-policy"), HasSubstr("appendfsync"),
                          HasSubstr("user admin may use every channel")));
  server.stop();
  expect_outage_is_told(*admin, 10s, server.location().password);
  server.start();
  EXPECT_THAT(admin->list(), IsEmpty());
  expect_silence_is_told(*admin, 15s, server);
}

TEST(RedisClusterAdmin, SeesAndEvictsOnAllMasters) {
  const auto location = support::redis_cluster_location();
  const auto options = support::redis_options(location);
  const auto admin = make_redis_admin(as_admin(options), quiet_runtime());
  const auto report = admin->examine();
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(notes(report), Contains(HasSubstr("3 masters")));

  const auto factory = redis::make_redis_factory(with_short_lease(options));
  const auto other = redis::make_redis_factory(with_short_lease(options));
  expect_owner_is_seen(*admin, *factory, true);
  expect_eviction_hands_over(*admin, *factory, *other);
  const auto store = redis::make_redis_store(options, quiet_runtime());
  const auto attached = store->attach();
  expect_thousand_are_listed(*admin, *store);
  EXPECT_THROW(admin->find("}x"), InvalidArgumentError);
}

TEST(RedisClusterAdmin, ANameThatNoClusterTakesHidesNoOtherMutexes) {
  support::RedisClusterServers servers;
  const auto options = as_admin(support::redis_options(servers.location()));
  const auto factory = redis::make_redis_factory(options);
  const Member owner{*factory, "good", "ann"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  const std::string key = owner_key("}x");
  Console{servers.location(), servers.node(servers.node_of(key)).location().port}.ask(
      {"SET", key, "mallory", "PX", "600000"});
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto admin = make_redis_admin(options, runtime_with(log));
  expect_unreadable_is_left_out(*admin, *log, "good", "}x");
}

TEST(RedisClusterAdmin, FollowsASlotThatMovesAndReportsANodeThatIsGone) {
  support::RedisClusterServers servers;
  const auto options = support::redis_options(servers.location());
  const auto admin = make_redis_admin(as_admin(options), quiet_runtime());
  const auto factory = redis::make_redis_factory(options);
  const std::string mutex = unique("moving");
  const Member owner{*factory, mutex, "owner-1"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  EXPECT_EQ(admin->find(mutex).owner_id, "owner-1");
  const std::string key = owner_key(mutex);
  const std::size_t to = (servers.node_of(key) + 1) % support::RedisClusterServers::size;
  servers.move_slot(key, to, [&](int) { EXPECT_EQ(admin->find(mutex).owner_id, "owner-1"); });
  EXPECT_EQ(admin->evict(mutex).owner_id, "owner-1");

  servers.node(0).kill();
  EXPECT_EQ(error_of([&] { admin->list(); }).kind(), ErrorKind::unavailable);
  const auto report = admin->examine();
  EXPECT_THAT(problems(report), Contains(HasSubstr(std::to_string(servers.node(0).port()))));
}

TEST(RedisSentinelAdmin, FindsTheMasterAndCountsTheSentinels) {
  support::RedisSentinelServers servers;
  auto options = support::redis_options(servers.location());
  const auto admin = make_redis_admin(as_admin(options), quiet_runtime());
  const auto healthy = admin->examine();
  EXPECT_THAT(notes(healthy), Contains(HasSubstr("3 of 3 sentinels")));
  EXPECT_THAT(warnings(healthy), Not(Contains(HasSubstr("clock"))));
  EXPECT_THAT(notes(healthy), Not(Contains(HasSubstr("clock")))) << "it could not be compared";
  const auto factory = redis::make_redis_factory(options);
  expect_owner_is_seen(*admin, *factory, true);
  servers.sentinel(0).kill();
  const auto report = admin->examine();
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(warnings(report), Contains(HasSubstr("2 of 3 sentinels")));
}

/// Passes one command after another on to a server, and answers PING by itself: as the server
/// would on a connection that listens, so that a client cannot tell by the answer.
class PingingProxy {
 public:
  explicit PingingProxy(std::uint16_t server) : server_{server} {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the way of sockets
    if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, plain, &size) != 0) {
      throw std::runtime_error{"no socket"};
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
  }

  ~PingingProxy() {
    thread_ = {};
    clients_.clear();
    ::close(listener_);
  }
  PingingProxy(const PingingProxy&) = delete;
  PingingProxy& operator=(const PingingProxy&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  /// The next bytes; empty at the end of the stream, or of this proxy.
  static std::string read(const std::stop_token& stop, int from) {
    while (!stop.stop_requested()) {
      pollfd wait{from, POLLIN, 0};
      if (::poll(&wait, 1, 10) <= 0) continue;
      std::string bytes(65'536, '\0');
      bytes.resize(static_cast<std::size_t>(
          std::max<ssize_t>(::recv(from, bytes.data(), bytes.size(), 0), 0)));
      return bytes;
    }
    return {};
  }

  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd wait{listener_, POLLIN, 0};
      if (::poll(&wait, 1, 10) <= 0) continue;
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      clients_.emplace_back([this, client](const std::stop_token& end) { pass(end, client); });
    }
  }

  void pass(const std::stop_token& stop, int client) const {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_);
    // NOLINTNEXTLINE(*-reinterpret-cast): the way of sockets
    ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    redis::RespReader commands;
    for (auto bytes = read(stop, client); !bytes.empty(); bytes = read(stop, client)) {
      commands.feed(bytes);
      while (const auto command = commands.next()) {
        const std::string answer = answer_of(stop, server, *command);
        ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
    ::close(server);
    ::close(client);
  }

  static std::string answer_of(const std::stop_token& stop, int server,
                               const redis::Reply& command) {
    std::vector<std::string_view> words;
    for (const auto& word : command.elements) words.emplace_back(word.text);
    if (words.at(0) == "PING") return "*2\r\n$4\r\npong\r\n$0\r\n\r\n";
    std::string request;
    redis::append_command(request, words);
    ::send(server, request.data(), request.size(), MSG_NOSIGNAL);
    redis::RespReader replies;
    std::string answer;
    do {
      const std::string bytes = read(stop, server);
      if (bytes.empty()) return {};
      answer += bytes;
      replies.feed(bytes);
    } while (!replies.next());
    return answer;
  }

  const std::uint16_t server_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::jthread> clients_;  // of thread_
  std::jthread thread_;
};

TEST_F(RedisAdmin, FindsAProxyThatAnswersPingByItself) {
  const PingingProxy proxy{location.port};
  const auto behind = support::redis_options(location, proxy.port());
  const auto report = make_redis_admin(as_admin(behind), quiet_runtime())->examine();
  EXPECT_THAT(problems(report), ElementsAre(HasSubstr("a proxy that answers PING by itself")));
  support::FaultProxy bytes{location.host, location.port};
  const auto behind_bytes = support::redis_options(location, bytes.port());
  EXPECT_THAT(problems(make_redis_admin(as_admin(behind_bytes), quiet_runtime())->examine()),
              IsEmpty());
}

/// A second passes each time someone looks.
class HastyClock final : public Clock {
 public:
  LocalTime now() const noexcept override { return LocalTime{std::chrono::seconds{++seconds_}}; }

 private:
  mutable std::atomic<int> seconds_{0};
};

TEST(RedisAdminOfARogue, AListThatNeverEndsIsGivenUp) {
  const redis::test::FixedReplyServer rogue{"*2\r\n$1\r\n7\r\n*0\r\n", "+OK\r\n"};
  RedisOptions options;
  options.endpoints = {{.port = rogue.port()}};
  auto runtime = std::make_shared<Runtime>(*quiet_runtime());
  runtime->clock = std::make_shared<HastyClock>();
  const auto admin = make_redis_admin(options, runtime);
  try {
    admin->list();
    ADD_FAILURE() << "it ended";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("has too many mutexes to list"));
  }
}

// Each reply is of a size that is allowed.
TEST(RedisAdminOfARogue, AListThatWouldTakeUpAllMemoryIsGivenUp) {
  const support::RedisServer server;
  Console{server.location()}.ask(
      {"EVAL",
       "for i = 1, 24000 do redis.call('SET', 'simba:{' .. i .. string.rep('x', 6000) .. '}', '') "
       "end",
       "0"});
  const auto admin =
      make_redis_admin(as_admin(support::redis_options(server.location())), quiet_runtime());
  const Error error = error_of([&] { admin->list(); });
  EXPECT_THAT(error.what(), testing::HasSubstr("(limit: 128 MiB); name one mutex with -m"));
}

}  // namespace
}  // namespace simba::admin_test
