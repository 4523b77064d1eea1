// Whom the gate of `simba serve` lets through.
#include "cli/serve/gate.hpp"

#include <chrono>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/errors.hpp"
#include "support/temporary_folder.hpp"

namespace simba::cli::serve {
namespace {

using namespace std::chrono_literals;
using http::Request;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string token = "a-token-of-enough-letters";
constexpr Gate::Seconds noon{std::chrono::seconds{1'700'000'000}};

Gate::Options options(bool secure = false) {
  return {.token = Secret{token},
          .hosts = {"ops.example.com", "[2001:db8::7]"},
          .port = 7462,
          .secure = secure};
}

Request with(std::vector<http::Header> headers) {
  return {.method = "POST", .path = "/", .headers = std::move(headers)};
}

/// The "name=value" of a Set-Cookie.
std::string pair_of(const std::string& cookie) { return cookie.substr(0, cookie.find(';')); }

TEST(ServeGate, KnowsItselfByItsNamesOnly) {
  const Gate gate{options()};
  for (const char* host : {"localhost:7462", "127.0.0.1:7462", "[::1]:7462", "ops.example.com",
                           "OPS.example.com:443", "[2001:db8::7]:7462"}) {
    EXPECT_TRUE(gate.knows_host(with({{"Host", host}}))) << host;
  }
  for (const char* host : {"evil.example.com", "ops.example.com.evil.net", "127.0.0.1.evil.net",
                           "localhost.evil.net", "[2001:db8::8]", "[", "", "10.0.0.7:7462"}) {
    EXPECT_FALSE(gate.knows_host(with({{"Host", host}}))) << host;
  }
  EXPECT_FALSE(gate.knows_host(with({})));
}

TEST(ServeGate, LetsInWhoBearsTheTokenAndNobodyElse) {
  const Gate gate{options()};
  EXPECT_TRUE(gate.is_logged_in(with({{"Authorization", "Bearer " + token}}), noon));
  EXPECT_FALSE(gate.is_logged_in(with({{"Authorization", "Bearer " + token + "x"}}), noon));
  EXPECT_FALSE(gate.is_logged_in(with({{"Authorization", "Bearer "}}), noon));
  EXPECT_FALSE(gate.is_logged_in(with({{"Authorization", "Basic " + token}}), noon));
  EXPECT_FALSE(gate.is_logged_in(with({}), noon));
  EXPECT_FALSE(Gate{{}}.is_logged_in(with({{"Authorization", "Bearer "}}), noon)) << "no token";
}

TEST(ServeGate, ABrowserIsLoggedInForTwelveHoursAndAfterARestart) {
  Gate gate{options()};
  const auto cookie = gate.log_in(token, noon);
  ASSERT_TRUE(cookie);
  EXPECT_THAT(*cookie, AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict"),
                             Not(HasSubstr("Secure")), Not(HasSubstr(token))));
  const Request request = with({{"Cookie", "other=1; " + pair_of(*cookie)}});
  EXPECT_TRUE(gate.is_logged_in(request, noon + 11h));
  EXPECT_FALSE(gate.is_logged_in(request, noon + 12h));
  EXPECT_TRUE(Gate{options()}.is_logged_in(request, noon));
  Gate::Options changed = options();
  changed.token = Secret{"another-token-of-enough-letters"};
  EXPECT_FALSE(Gate{changed}.is_logged_in(request, noon));
  changed = options();
  changed.port = 7463;
  EXPECT_FALSE(Gate{changed}.is_logged_in(request, noon)) << "of a neighbour on this host";
}

TEST(ServeGate, ACookieThatWasChangedIsNone) {
  Gate gate{options()};
  const std::string good = pair_of(gate.log_in(token, noon).value_or(""));
  for (std::size_t at = good.find('=') + 1; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = bad[at] == '1' ? '2' : '1';
    EXPECT_FALSE(gate.is_logged_in(with({{"Cookie", bad}}), noon)) << bad;
  }
  for (const char* bad :
       {"simba-7462=", "simba-7462=.", "simba-7462=9999999999.", "simba-7462=1.2.3"}) {
    EXPECT_FALSE(gate.is_logged_in(with({{"Cookie", bad}}), noon)) << bad;
  }
}

TEST(ServeGate, OverTlsACookieGoesNowhereElse) {
  Gate gate{options(true)};
  EXPECT_THAT(gate.log_in(token, noon).value_or(""),
              AllOf(HasSubstr("__Host-simba-7462="), HasSubstr("; Secure"), HasSubstr("; Path=/;"),
                    Not(HasSubstr("Domain"))));
}

TEST(ServeGate, AfterTenWrongTokensEvenTheRightOneHasToWait) {
  Gate gate{options()};
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(gate.log_in("wrong", noon + 1s));
  EXPECT_TRUE(gate.is_closed(noon + 2s));
  EXPECT_FALSE(gate.log_in(token, noon + 2s));
  EXPECT_TRUE(gate.log_in(token, noon + 11s));
  EXPECT_FALSE(gate.is_closed(noon + 11s));
}

TEST(ServeGate, OnlyItsOwnPageActs) {
  const Gate gate{options()};
  const auto from = [&](const std::string& origin, const std::string& site) {
    std::vector<http::Header> headers{{"Host", "localhost:7462"}};
    if (!origin.empty()) headers.push_back({"Origin", origin});
    if (!site.empty()) headers.push_back({"Sec-Fetch-Site", site});
    return gate.is_of_our_page(with(headers));
  };
  EXPECT_TRUE(from("http://localhost:7462", "same-origin"));
  EXPECT_TRUE(from("http://localhost:7462", ""));
  EXPECT_FALSE(from("http://localhost:3000", "same-site")) << "a neighbour's page has our cookie";
  EXPECT_FALSE(from("https://localhost:7462", ""));
  EXPECT_FALSE(from("https://evil.example.com", "cross-site"));
  EXPECT_FALSE(from("null", ""));
  EXPECT_FALSE(from("", "none"));
  EXPECT_FALSE(from("", ""));
}

TEST(ServeGate, AProgramNeedsNoPageToAct) {
  const Gate gate{options()};
  EXPECT_TRUE(gate.is_of_our_page(
      with({{"Host", "localhost:7462"}, {"Authorization", "Bearer " + token}})));
}

struct ServeToken : testing::Test {
  std::string file_with(const std::string& text, mode_t mode = 0600) const {
    const auto path = folder.path() / "token";
    std::ofstream{path} << text;
    ::chmod(path.c_str(), mode);
    return path.string();
  }

  static std::string refusal_of(const std::string& file) {
    try {
      read_token(file);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "read";
  }

  const support::TemporaryFolder folder;
};

TEST_F(ServeToken, IsTheFirstLineOfItsFile) {
  EXPECT_EQ(read_token(file_with(token + "\n")).reveal(), token);
  EXPECT_EQ(read_token(file_with(token + "\r\nmore")).reveal(), token);
}

TEST_F(ServeToken, IsRefusedIfItIsWeakOrOthersCanReadIt) {
  EXPECT_THAT(refusal_of(file_with("short")), HasSubstr("must be 16 to 1000"));
  EXPECT_THAT(refusal_of(file_with("")), HasSubstr("got 0 bytes"));
  EXPECT_THAT(refusal_of(file_with("with blanks in it, of enough letters")),
              HasSubstr("without blanks"));
  EXPECT_THAT(refusal_of(file_with(std::string(1001, 'x'))), HasSubstr("must be 16 to 1000"));
  EXPECT_THAT(refusal_of(file_with(token, 0644)), HasSubstr("chmod o-rw"));
  EXPECT_THAT(refusal_of(folder.path().string()), HasSubstr("is not a file"));
  EXPECT_THAT(refusal_of((folder.path() / "none").string()), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace simba::cli::serve
