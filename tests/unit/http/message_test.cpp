#include "http/message.hpp"

#include <gtest/gtest.h>

namespace simba::http {
namespace {

TEST(HttpMessage, FindsHeadersParametersAndCookies) {
  const Request request{.query = "a=1&b=x%2Fy+z&b=2&c=%zz&d",
                        .headers = {{"COOKIE", "one=1; two=2"}, {"X", "first"}, {"x", "second"}}};
  EXPECT_EQ(request.header("x"), "first");
  EXPECT_EQ(request.header("y"), "");
  EXPECT_EQ(request.parameter("a"), "1");
  EXPECT_EQ(request.parameter("b"), "x/y z");
  EXPECT_EQ(request.parameter("c"), std::nullopt);
  EXPECT_EQ(request.parameter("d"), "");
  EXPECT_EQ(request.parameter("e"), std::nullopt);
  EXPECT_EQ(request.cookie("two"), "2");
  EXPECT_EQ(request.cookie("tw"), "");
}

TEST(HttpMessage, DecodesPercentSignsAndNoZeroBytes) {
  EXPECT_EQ(percent_decoded("a%2fb%C3%a4"), "a/b\xc3\xa4");
  EXPECT_EQ(percent_decoded("%"), std::nullopt);
  EXPECT_EQ(percent_decoded("%4"), std::nullopt);
  EXPECT_EQ(percent_decoded("%4g"), std::nullopt);
  EXPECT_EQ(percent_decoded("%00"), std::nullopt);
}

TEST(HttpMessage, ComparesSecrets) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "sEcret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secret "));
  EXPECT_FALSE(equal_in_constant_time("\x80", std::string_view{"\0", 1}));
}

TEST(HttpMessage, TakesTheTokenOfABearerOnly) {
  const auto token = [](const char* value) {
    const Request request{.headers = {{"authorization", value}}};
    return std::string{bearer_token(request)};
  };
  EXPECT_EQ(token("Bearer abc"), "abc");
  EXPECT_EQ(token("bearer  abc "), "abc");
  EXPECT_EQ(token("Basic abc"), "");
  EXPECT_EQ(token("Bearer"), "");
}

TEST(HttpMessage, KnowsNamesThatOnlyThisHostIsCalledBy) {
  const auto loopback = [](const char* value) {
    return names_loopback(Request{.headers = {{"Host", value}}});
  };
  EXPECT_TRUE(loopback("localhost"));
  EXPECT_TRUE(loopback("LOCALHOST:8080"));
  EXPECT_TRUE(loopback("127.0.0.1:8080"));
  EXPECT_TRUE(loopback("127.9.9.9"));
  EXPECT_TRUE(loopback("[::1]:8080"));
  EXPECT_TRUE(names_loopback(Request{}));
  EXPECT_FALSE(loopback("evil.example"));
  EXPECT_FALSE(loopback("localhost.evil.example:8080"));
  EXPECT_FALSE(loopback("127.0.0.1.evil.example"));
  EXPECT_FALSE(loopback("192.168.0.1"));
  EXPECT_FALSE(loopback("[::1"));
  EXPECT_FALSE(loopback("[2001:db8::1]"));
}

}  // namespace
}  // namespace simba::http
