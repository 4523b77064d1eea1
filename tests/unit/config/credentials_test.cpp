#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/config/configuration.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/core/error.hpp"
#include "simba/simba.hpp"

namespace simba::config {
namespace {

using testing::HasSubstr;
using testing::Property;
using testing::Throws;

Credentials nobody() { return {}; }

auto is_unsupported() { return Throws<Error>(Property(&Error::kind, ErrorKind::unsupported)); }

TEST(ConfiguredCredentials, AreForStoresThatOneLogsInTo) {
  for (const char* url :
       {"redis://localhost", "mysql://app@localhost/app", "postgresql://app@localhost/app"}) {
    EXPECT_NO_THROW(Configuration::from_url(url).set_credentials(nobody)) << url;
  }
  for (const char* url : {"memory:", "sqlite:/tmp/simba.db", "zookeeper://localhost"}) {
    EXPECT_THAT([&] { Configuration::from_url(url).set_credentials(nobody); }, is_unsupported())
        << url;
    EXPECT_THAT([&] { static_cast<void>(make_factory(url, {.credentials = nobody})); },
                is_unsupported());
    EXPECT_THAT([&] { const Client client(url, {.credentials = nobody}); }, is_unsupported());
  }
}

TEST(ConfiguredCredentials, CountAsAPasswordThatMustNotBeSentUnencrypted) {
  auto configuration = Configuration::from_url("redis://redis.example");
  EXPECT_THAT([&] { configuration.set_credentials(nobody); },
              testing::ThrowsMessage<Error>(HasSubstr("unencrypted connection to host")));
  EXPECT_NO_THROW(Configuration::from_url("rediss://redis.example").set_credentials(nobody));
}

TEST(ConfiguredCredentials, SurviveAChangeOfTheConfigurationAndACopy) {
  auto configuration = Configuration::from_url("redis://localhost");
  configuration.set_credentials(nobody);
  configuration.set("ttl", "5s", "test");
  const Configuration copy = configuration;
  auto changed = copy;
  EXPECT_THROW(changed.set("hosts", "redis.example", "test"), Error);
}

}  // namespace
}  // namespace simba::config
