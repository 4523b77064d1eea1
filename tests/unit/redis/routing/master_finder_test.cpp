#include "redis/routing/master_finder.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Endpoint at(std::string host, std::uint16_t port) {
  return {.host = std::move(host), .port = port};
}

const Endpoint first = at("10.0.0.1", 26379);
const Endpoint second = at("10.0.0.2", 26379);
const Endpoint third = at("10.0.0.3", 26379);
const Endpoint master = at("10.0.0.8", 6379);
const Endpoint new_master = at("10.0.0.9", 6380);

Reply address(const Endpoint& endpoint) {
  return array_reply({text_reply(endpoint.host), text_reply(std::to_string(endpoint.port))});
}

class RedisMasterFinder : public testing::Test {
 protected:
  using Answer = std::variant<Endpoint, Error>;

  static RedisOptions make_options() {
    RedisOptions options;
    options.topology = Topology::sentinel;
    options.endpoints = {first, second, third};
    options.user = "app";
    options.password = Secret{"secret of the app"};
    options.database = 3;
    options.sentinel_user = "watcher";
    options.sentinel_password = Secret{"secret of the sentinels"};
    options.tls.mode = TlsMode::verify;
    options.connect_timeout = std::chrono::milliseconds{700};
    return options;
  }

  EndpointHandler note() {
    return [this](const Answer& answer) { answers_.push_back(answer); };
  }

  /// Searches once, with the sentinel that is asked answering so.
  Endpoint asked_first_when_it_answers(const Endpoint& endpoint) {
    finder_->find(note());
    const Endpoint sentinel = connections_.last().endpoint;
    connections_.last().answer(address(endpoint));
    return sentinel;
  }

  /// The order in which the sentinels are asked when none of them helps.
  std::vector<Endpoint> order_of_asking() {
    const std::size_t before = connections_.opened.size();
    finder_->find(note());
    std::vector<Endpoint> order;
    for (std::size_t i = before; i < connections_.opened.size(); ++i) {
      order.push_back(connections_.opened[i]->endpoint);
      connections_.opened[i]->fail(Error{ErrorKind::unavailable, "refused"});
    }
    return order;
  }

  Endpoint found(std::size_t index = 0) { return std::get<Endpoint>(answers_.at(index)); }
  Error error(std::size_t index = 0) { return std::get<Error>(answers_.at(index)); }

  FakeConnections connections_;
  std::vector<Answer> answers_;
  std::shared_ptr<MasterFinder> finder_ =
      std::make_shared<MasterFinder>(make_options(), connections_.opener());
};

TEST_F(RedisMasterFinder, AsksASentinelAndHangsUp) {
  finder_->find(note());
  ASSERT_EQ(connections_.opened.size(), 1U);
  EXPECT_EQ(connections_.last().endpoint, first);
  EXPECT_EQ(connections_.last().use, Connection::Use::commands);
  EXPECT_THAT(connections_.last().take_sent(),
              ElementsAre("SENTINEL get-master-addr-by-name mymaster"));
  EXPECT_TRUE(answers_.empty());

  connections_.last().become_ready();
  connections_.last().answer(address(master));
  EXPECT_EQ(found(), master);
  EXPECT_EQ(connections_.alive(), 0U);
  EXPECT_EQ(connections_.opened.size(), 1U);
}

TEST_F(RedisMasterFinder, LogsInAsTheSentinelsWantIt) {
  finder_->find(note());
  const ConnectionSettings& settings = *connections_.last().settings;
  EXPECT_EQ(settings.user, "watcher");
  EXPECT_EQ(settings.password.reveal(), "secret of the sentinels");
  EXPECT_EQ(settings.database, 0);
  EXPECT_EQ(settings.client_name, "simba");
  EXPECT_EQ(settings.tls.mode, TlsMode::verify);
  EXPECT_EQ(settings.connect_timeout, std::chrono::milliseconds{700});
  EXPECT_EQ(settings.command_timeout, std::chrono::milliseconds{700});
  EXPECT_FALSE(settings.masters_only);
}

TEST_F(RedisMasterFinder, AsksTheNextWhereOneCannotBeReached) {
  finder_->find(note());
  connections_.last().fail(Error{ErrorKind::unavailable, "connection refused"});
  EXPECT_EQ(connections_.last().endpoint, second);
  connections_.last().fail(Error{ErrorKind::timeout, "no answer"});
  EXPECT_EQ(connections_.last().endpoint, third);
  connections_.last().answer(address(master));
  EXPECT_EQ(found(), master);
  EXPECT_EQ(connections_.alive(), 0U);
}

TEST_F(RedisMasterFinder, AsksTheNextWhereOneHangsUp) {
  finder_->find(note());
  connections_.last().become_ready();
  connections_.last().fail(Error{ErrorKind::unavailable, "closed by the server"});
  EXPECT_EQ(connections_.last().endpoint, second);
  EXPECT_EQ(connections_.opened.size(), 2U);
}

TEST_F(RedisMasterFinder, AsksTheNextWhereOneDoesNotAnswer) {
  finder_->find(note());
  connections_.last().become_ready();
  connections_.last().refuse(Error{ErrorKind::timeout, "no answer"});
  EXPECT_EQ(connections_.last().endpoint, second);
  EXPECT_EQ(connections_.alive(), 1U);
}

TEST_F(RedisMasterFinder, AsksTheNextWhereAnAnswerIsNoAddress) {
  for (const Reply& bad : {
           text_reply("10.0.0.8:6379"),
           array_reply({}),
           array_reply({text_reply("10.0.0.8")}),
           array_reply({text_reply("10.0.0.8"), integer_reply(6379)}),
           array_reply({text_reply(""), text_reply("6379")}),
           array_reply({text_reply("10.0.0.8\r\n"), text_reply("6379")}),
           array_reply({nil_reply(), text_reply("6379")}),
           array_reply({text_reply("10.0.0.8"), text_reply("0")}),
           array_reply({text_reply("10.0.0.8"), text_reply("65536")}),
           array_reply({text_reply("10.0.0.8"), text_reply("-1")}),
           array_reply({text_reply("10.0.0.8"), text_reply("6379x")}),
           array_reply({text_reply("10.0.0.8"), text_reply("")}),
           array_reply({text_reply("10.0.0.8"), text_reply("6379"), text_reply("6380")}),
       }) {
    finder_ = std::make_shared<MasterFinder>(make_options(), connections_.opener());
    finder_->find(note());
    connections_.last().answer(bad);
    EXPECT_EQ(connections_.last().endpoint, second);
  }
}

TEST_F(RedisMasterFinder, BeginsWithTheOneThatAnsweredLast) {
  finder_->find(note());
  connections_.last().fail(Error{ErrorKind::unavailable, "refused"});
  connections_.last().answer(address(master));
  EXPECT_THAT(order_of_asking(), ElementsAre(second, third, first));
}

TEST_F(RedisMasterFinder, AsksAnotherFirstWhereOneSaysTheSameAgain) {
  EXPECT_EQ(asked_first_when_it_answers(master), first);
  EXPECT_EQ(asked_first_when_it_answers(master), first);
  EXPECT_EQ(asked_first_when_it_answers(master), second);
  EXPECT_EQ(asked_first_when_it_answers(new_master), third);
  EXPECT_EQ(asked_first_when_it_answers(new_master), third);
  EXPECT_EQ(asked_first_when_it_answers(new_master), first);
}

TEST_F(RedisMasterFinder, AsksThoseThatFailedLast) {
  finder_->find(note());
  connections_.last().fail(Error{ErrorKind::unavailable, "refused"});
  connections_.last().answer(address(master));
  EXPECT_EQ(asked_first_when_it_answers(master), second);
  EXPECT_EQ(asked_first_when_it_answers(master), third);
  EXPECT_EQ(asked_first_when_it_answers(master), second);
}

TEST_F(RedisMasterFinder, SaysOfEachSentinelWhyItDidNotHelp) {
  finder_->find(note());
  connections_.last().fail(Error{ErrorKind::unavailable, "connection refused"});
  connections_.last().fail(Error{ErrorKind::timeout, "Redis at 10.0.0.2:26379 did not answer"});
  connections_.last().answer(nil_reply());
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(error().kind(), ErrorKind::unavailable);
  EXPECT_STREQ(error().what(),
               "cannot get the address of master 'mymaster' from any sentinel: 10.0.0.1:26379: "
               "connection refused; "
               "Redis at 10.0.0.2:26379 did not answer; "
               "10.0.0.3:26379: does not know master 'mymaster'");
  EXPECT_EQ(connections_.alive(), 0U);
}

TEST_F(RedisMasterFinder, SaysThatNoSentinelKnowsTheName) {
  finder_->find(note());
  for (int sentinel = 0; sentinel < 3; ++sentinel) connections_.last().answer(nil_reply());
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
  EXPECT_STREQ(error().what(), "no sentinel knows a master named 'mymaster'; check master_name");
}

TEST_F(RedisMasterFinder, SaysThatAllRefuseTheLogIn) {
  finder_->find(note());
  for (int sentinel = 0; sentinel < 3; ++sentinel) {
    connections_.last().fail(Error{ErrorKind::authentication, "wrong password"});
  }
  EXPECT_EQ(error().kind(), ErrorKind::authentication);
  EXPECT_THAT(error().what(), HasSubstr("sentinel_user and sentinel_password"));
}

TEST_F(RedisMasterFinder, TakesARefusalBySomeForOneThatPasses) {
  finder_->find(note());
  connections_.last().fail(Error{ErrorKind::authentication, "wrong password"});
  connections_.last().fail(Error{ErrorKind::unavailable, "refused"});
  connections_.last().fail(Error{ErrorKind::authentication, "wrong password"});
  EXPECT_EQ(error().kind(), ErrorKind::unavailable);
}

TEST_F(RedisMasterFinder, SaysThatAServerIsNotASentinel) {
  finder_->find(note());
  for (int sentinel = 0; sentinel < 3; ++sentinel) {
    connections_.last().answer(
        error_reply("ERR unknown command 'SENTINEL', with args beginning with: "
                    "'get-master-addr-by-name' 'mymaster' "));
  }
  EXPECT_EQ(error().kind(), ErrorKind::configuration);
  EXPECT_THAT(error().what(), HasSubstr("10.0.0.1:26379 is not a sentinel"));
}

TEST_F(RedisMasterFinder, SaysWhatASentinelMustAllow) {
  finder_->find(note());
  for (int sentinel = 0; sentinel < 3; ++sentinel) {
    connections_.last().answer(
        error_reply("NOPERM this user has no permissions to run the "
                    "'sentinel|get-master-addr-by-name' command"));
  }
  EXPECT_EQ(error().kind(), ErrorKind::permission);
  EXPECT_THAT(error().what(), HasSubstr("+sentinel|get-master-addr-by-name"));
}

TEST_F(RedisMasterFinder, SaysThatTheSentinelsWantAPassword) {
  finder_->find(note());
  for (int sentinel = 0; sentinel < 3; ++sentinel) {
    connections_.last().answer(error_reply("NOAUTH Authentication required."));
  }
  EXPECT_EQ(error().kind(), ErrorKind::authentication);
  EXPECT_THAT(error().what(), HasSubstr("set sentinel_password"));
}

TEST_F(RedisMasterFinder, SharesOneSearchAmongThoseWhoAsk) {
  finder_->find(note());
  finder_->find(note());
  connections_.last().fail(Error{ErrorKind::unavailable, "refused"});
  finder_->find(note());
  EXPECT_EQ(connections_.opened.size(), 2U);
  connections_.last().answer(address(master));
  ASSERT_EQ(answers_.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found(i), master);
}

TEST_F(RedisMasterFinder, SearchesAnewForOneWhoAsksInsideAnAnswer) {
  finder_->find([this](const Answer&) { finder_->find(note()); });
  connections_.last().answer(address(master));
  EXPECT_EQ(connections_.opened.size(), 2U);
  EXPECT_EQ(connections_.alive(), 1U);
  connections_.last().answer(address(new_master));
  EXPECT_EQ(found(), new_master);
}

TEST_F(RedisMasterFinder, TakesAFailureWhileItOpens) {
  connections_.on_open = [](FakeConnection& connection) {
    connection.fail(Error{ErrorKind::unavailable, "no such file"});
  };
  finder_->find(note());
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(error().kind(), ErrorKind::unavailable);
  EXPECT_EQ(connections_.opened.size(), 3U);
  finder_->find(note());
  EXPECT_EQ(answers_.size(), 2U);
}

TEST_F(RedisMasterFinder, MayBeLetGoInsideAnAnswer) {
  connections_.on_open = [](FakeConnection& connection) {
    connection.fail(Error{ErrorKind::unavailable, "no such file"});
  };
  finder_->find([this](const Answer& answer) {
    finder_.reset();
    answers_.push_back(answer);
  });
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(RedisMasterFinder, AnswersThoseWhoWaitWhenItIsClosed) {
  finder_->find(note());
  finder_->find(note());
  finder_->close();
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(error(1).kind(), ErrorKind::unavailable);
  EXPECT_STREQ(error(1).what(), "closed");
  EXPECT_EQ(connections_.alive(), 0U);
  EXPECT_EQ(connections_.opened.size(), 1U);
}

TEST_F(RedisMasterFinder, RefusesWhoAsksAfterItWasClosed) {
  finder_->close();
  finder_->close();
  finder_->find(note());
  EXPECT_STREQ(error().what(), "closed");
  EXPECT_TRUE(connections_.opened.empty());
}

TEST_F(RedisMasterFinder, LeavesNoConnectionBehind) {
  finder_->find(note());
  const auto connection = connections_.opened.front();
  finder_.reset();
  EXPECT_TRUE(connection->closed());
  EXPECT_EQ(answers_.size(), 1U);
}

}  // namespace
}  // namespace simba::redis
