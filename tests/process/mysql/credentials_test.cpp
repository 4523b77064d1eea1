// Credentials that change while a program runs.
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "simba/simba.hpp"
#include "support/changing_password.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"

namespace simba::mysql::test {
namespace {

using support::ChangingPassword;

/// False: a log-in that was under way when the password changed has been refused.
bool can_lock(const simba::Client& client, const std::string& mutex) {
  try {
    return client.lock(mutex, {.wait = support::scaled(10s)}).held();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::authentication) throw;
    return false;
  }
}

TEST(MySqlCredentials, EachNewConnectionLogsInWithWhatTheCallbackReturnsThen) {
  MySqlOptions options = own_database();
  Console console{options};
  const std::string user = own_user(options, fmt::format("ALL ON {}.*", options.database)).user;
  const ChangingPassword password{"own-password-77"};
  options.user.clear();
  options.credentials = password.source(user);
  const simba::Client client{std::shared_ptr{make_mysql_factory(options)}};
  const Lock held = client.lock("held", {.wait = support::scaled(10s)});
  const int asked = password.asked();

  console.run(fmt::format("ALTER USER '{}'@'%' IDENTIFIED BY 'another-88'", user));
  password.change_to("another-88");
  console.run(fmt::format("KILL USER '{}'@'%'", user));
  EXPECT_TRUE(support::eventually([&] { return can_lock(client, "another"); }));
  EXPECT_GT(password.asked(), asked);
  EXPECT_TRUE(held.held());
}

TEST(MySqlCredentials, AnExceptionOfTheCallbackIsAnErrorThatDoesNotShowItsText) {
  MySqlOptions options = shared();
  options.credentials = []() -> Credentials { throw std::runtime_error{"s.very-secret"}; };
  const Error error = error_of([&] { test::Client{options}.connect(); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  EXPECT_THAT(error.what(),
              testing::AllOf(testing::HasSubstr("the credentials callback threw an exception"),
                             testing::Not(testing::HasSubstr("very-secret"))));
}

TEST(MySqlCredentials, AreRefusedWithoutAUser) {
  MySqlOptions options = shared();
  options.user.clear();
  options.credentials = ChangingPassword{"word"}.source();
  const Error error = error_of([&] { test::Client{options}.connect(); });
  EXPECT_EQ(error.kind(), ErrorKind::configuration);
  EXPECT_THAT(error.what(), testing::HasSubstr("returned no user"));
}

TEST(MySqlCredentials, AreRefusedWhereTheyWouldLeaveThisHostUnencrypted) {
  MySqlOptions options{.host = "db.example", .database = "app"};
  options.credentials = ChangingPassword{"word"}.source("app");
  EXPECT_THROW(static_cast<void>(make_mysql_factory(options)), InvalidArgumentError);
}

TEST(MySqlCredentials, ACertificateThatIsReplacedIsReadForTheNextConnection) {
  const support::MariaDbServer server{support::Tls::on};
  const std::filesystem::path certificates = server.location().certificates;
  const support::TemporaryFolder folder;
  MySqlOptions options = support::verifying(options_of(server.location()), server.location());
  options.tls.ca_file = folder.path() / "ca.crt";
  std::filesystem::copy_file(certificates / "stranger.crt", options.tls.ca_file);
  test::Client client{options};
  EXPECT_EQ(error_of([&] { client.connect(); }).kind(), ErrorKind::configuration);
  std::filesystem::copy_file(certificates / "ca.crt", options.tls.ca_file,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NO_THROW(client.connect());
}

}  // namespace
}  // namespace simba::mysql::test
