// Credentials and certificates that change while a program runs.
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/config/configuration.hpp"
#include "simba/core/runtime.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/changing_password.hpp"
#include "support/patience.hpp"
#include "support/redis/redis_client_options.hpp"
#include "support/redis/redis_console.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using support::ChangingPassword;
using support::RedisConsole;
using support::RedisServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string url_of(const support::Location& location, const std::string& user) {
  return fmt::format("redis://{}{}:{}", user, location.host, location.port);
}

/// The error of a request that must fail.
Error error_of(const simba::Client& client) {
  try {
    static_cast<void>(client.try_lock("m"));
  } catch (const Error& error) {
    return error;
  }
  return Error{ErrorKind::internal, "no error"};
}

TEST(RedisCredentials, EachNewConnectionLogsInWithWhatTheCallbackReturnsThen) {
  const RedisServer server;
  RedisConsole console{server.location()};
  const auto admit = [&](const std::string& password) {
    console.ask({"ACL", "SETUSER", "app", "on", "resetpass", ">" + password, "~*", "&*", "+@all"});
  };
  admit("first");
  const ChangingPassword password{"first"};
  const simba::Client client{url_of(server.location(), ""),
                             {.credentials = password.source("app")}};
  const Lock held = client.lock("held", {.wait = support::scaled(10s)});
  const int asked = password.asked();

  admit("second");
  password.change_to("second");
  EXPECT_TRUE(client.lock("other", {.wait = support::scaled(10s)}));
  EXPECT_EQ(password.asked(), asked) << "a connection that exists goes on";
  console.ask({"CLIENT", "KILL", "USER", "app"});
  EXPECT_TRUE(client.lock("another", {.wait = support::scaled(10s)}));
  EXPECT_GT(password.asked(), asked);
  EXPECT_TRUE(held.held());
}

TEST(RedisCredentials, TheUserOfTheUrlIsKeptWhereTheCallbackNamesNone) {
  const auto location = support::redis_location();
  const ChangingPassword password{location.password};
  const simba::Client client{url_of(location, location.user + ":not-this-one@"),
                             {.credentials = password.source()}};
  EXPECT_TRUE(client.lock("user-of-the-url", {.wait = support::scaled(10s)}));
}

TEST(RedisCredentials, AnExceptionOfTheCallbackIsAnErrorThatDoesNotShowItsText) {
  const auto logger = std::make_shared<testkit::CapturingLogger>();
  const auto location = support::redis_location();
  {
    const simba::Client client{
        url_of(location, ""),
        {.runtime = make_runtime({.log = logger}), .credentials = []() -> Credentials {
           throw std::runtime_error{"403 for token s.very-secret"};
         }}};
    const Error error = error_of(client);
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("the credentials callback threw an exception"),
                      HasSubstr(std::to_string(location.port)), Not(HasSubstr("very-secret"))));
  }
  EXPECT_FALSE(logger->contains("very-secret")) << logger->text();
}

TEST(RedisCredentials, AnErrorOfTheCallbackKeepsItsKind) {
  const simba::Client client{url_of(support::redis_location(), ""),
                             {.credentials = []() -> Credentials {
                               throw Error{ErrorKind::permission, "s.very-secret"};
                             }}};
  EXPECT_EQ(error_of(client).kind(), ErrorKind::permission);
}

TEST(RedisCredentials, AWrongPasswordOfTheCallbackIsRefusedAndNeverShown) {
  const auto logger = std::make_shared<testkit::CapturingLogger>();
  const ChangingPassword password{"not-the-word"};
  {
    const simba::Client client{
        url_of(support::redis_location(), ""),
        {.runtime = make_runtime({.log = logger}), .credentials = password.source("admin")}};
    const Error error = error_of(client);
    EXPECT_EQ(error.kind(), ErrorKind::authentication);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'admin'"), Not(HasSubstr("not-the-word"))));
  }
  EXPECT_FALSE(logger->contains("not-the-word")) << logger->text();
}

TEST(RedisCredentials, AMasterBehindSentinelsIsLoggedInToWithThemButNotTheSentinels) {
  RedisOptions options = support::redis_options(support::redis_sentinel_location());
  const ChangingPassword password{options.password.reveal()};
  options.password = Secret{"not-this-one"};
  options.credentials = password.source();
  const simba::Client client{std::shared_ptr{make_redis_factory(options)}};
  EXPECT_TRUE(client.lock("behind-sentinels", {.wait = support::scaled(10s)}));
  EXPECT_GT(password.asked(), 0);
}

TEST(RedisCredentials, ACertificateThatIsReplacedIsReadForTheNextConnection) {
  const RedisServer server{support::Tls::on, {"--tls-auth-clients", "yes"}};
  const std::filesystem::path certificates = server.location().certificates;
  const support::TemporaryFolder folder;
  const auto install = [&](const std::string& name) {
    for (const std::string ending : {".crt", ".key"}) {
      const auto next = folder.path() / ("next" + ending);
      std::filesystem::copy_file(certificates / (name + ending), next);
      std::filesystem::rename(next, folder.path() / ("mine" + ending));
    }
  };
  install("stranger");
  RedisOptions options = support::redis_options(server.location());
  options.tls.certificate_file = folder.path() / "mine.crt";
  options.tls.key_file = folder.path() / "mine.key";
  const simba::Client client{std::shared_ptr{make_redis_factory(options)}};
  // The server's alert may be overtaken by the reset of the connection.
  EXPECT_THAT(error_of(client).kind(),
              testing::AnyOf(ErrorKind::configuration, ErrorKind::unavailable));
  install("client");
  EXPECT_TRUE(support::eventually([&] {
    try {
      return static_cast<bool>(client.try_lock("m"));
    } catch (const Error&) {  // not tried again yet
      return false;
    }
  }));
}

}  // namespace
}  // namespace simba::redis
