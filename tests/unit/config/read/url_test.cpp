#include "config/read/url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ConfigUrl, HasManyParts) {
  const Url url = parse_url(
      "Redis+Sentinel://us%65r:p%40ss%3A%2F%25@h1,h2:7000,[fe80::1]:7001/my%2Fmaster/2?ttl=10s&a=",
      UrlForm::hosts);
  EXPECT_EQ(url.scheme, "redis+sentinel");
  EXPECT_EQ(url.user, "user");
  EXPECT_EQ(url.password.reveal(), "p@ss:/%");
  EXPECT_THAT(url.hosts,
              ElementsAre(detail::HostPort{"h1", {}}, detail::HostPort{"h2", std::uint16_t{7000}},
                          detail::HostPort{"fe80::1", std::uint16_t{7001}}));
  EXPECT_THAT(url.steps, ElementsAre("my/master", "2"));
  EXPECT_EQ(url.parameter("ttl"), "10s");
  EXPECT_EQ(url.parameter("a"), "");
  EXPECT_EQ(url.parameter("b"), std::nullopt);
  EXPECT_EQ(to_text(url), "redis+sentinel://user:***@h1,h2:7000,[fe80::1]:7001/my%2Fmaster/2");
}

TEST(ConfigUrl, MayHaveAPathAndNoHost) {
  EXPECT_EQ(parse_url("sqlite:a/b%20c.db?ttl=1s", UrlForm::path).path, "a/b c.db");
  EXPECT_EQ(parse_url("sqlite:/a@b#c", UrlForm::path).path, "/a@b#c");
  EXPECT_EQ(parse_url("sqlite:///a", UrlForm::path).path, "/a");
  EXPECT_THAT(refusal_of([] { parse_url("sqlite://a/b", UrlForm::path); }),
              HasSubstr("has no host"));
}

TEST(ConfigUrl, MayComeFromJdbc) {
  EXPECT_EQ(scheme_of("jdbc:mysql://h/d"), "mysql");
  EXPECT_EQ(parse_url("jdbc:mysql://h/d", UrlForm::hosts).steps, std::vector<std::string>{"d"});
}

TEST(ConfigUrl, HasNoSchemeWhereAnythingElseComesFirst) {
  for (const auto* const text : {"", ":", "host", "//host", "pw@host:6379", "/a:b", "a b:c"}) {
    EXPECT_EQ(scheme_of(text), std::nullopt) << text;
  }
}

TEST(ConfigUrl, SaysWhatIsWrongWithoutShowingWhatMayBeAPassword) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"redis:user:hunter2@h", "two slashes"},
      {"redis://user:hunter2", "port must be a number between 1 and 65535"},
      {"redis://user:hun/ter2@h", "must be written as %2F"},
      {"redis://user:hun?ter2@h", "must be written as %2F"},
      {"redis://user:hun#ter2@h", "must be written as %2F"},
      {"redis://user:12?hunter2@h", "must be written as %2F"},
      {"redis://:hun@ter2@h", "must be written as %2F"},
      {"redis://:hunter2@@h", "must be written as %2F"},
      {"redis://:hun:ter2@h", "must be written as %2F"},
      {"redis://user:hunter2%@h", "two hexadecimal digits"},
      {"redis://user:hunter2%zz@h", "two hexadecimal digits"},
      {"redis://user:hunter2%00@h", "%00"},
      {"redis://user:hunter2@h:x", "port must be a number between 1 and 65535"},
      {"redis://user:hunter2@h:0", "port must be between 1 and 65535 (got 0)"},
      {"redis://user:hunter2@h:65536", "port must be between 1 and 65535 (got 65536)"},
      {"redis://user:hunter2@h,,h", "empty host"},
      {"redis://user:hunter2@::1", "in brackets"},
      {"redis://user:hunter2@[::1", "missing ']'"},
      {"redis://user:hunter2@[::1]x", "only a port may follow"},
      {"redis://h?hunter2", "? must be followed by parameters"},
      {"redis://h?=hunter2", "? must be followed by parameters"},
      {"redis://h?a b=hunter2", "? must be followed by parameters"},
      {"redis://h?ttl=1s&ttl=hunter2", "duplicate parameter \"ttl\""},
      {"redis://h?ttl=1s&", "? must be followed by parameters"},
      {"redis://" + std::string(20'000, 'x') + "hunter2", "longer than 16 KiB"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string refusal = refusal_of_url(text);
    EXPECT_THAT(refusal, AllOf(HasSubstr(expected), Not(HasSubstr("hun")), Not(HasSubstr("ter2"))))
        << text;
  }
}

}  // namespace
}  // namespace simba::config
