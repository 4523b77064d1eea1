#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/console.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/simba.hpp"

namespace simba::redis::test {
namespace {

using ::testing::HasSubstr;

/// A report that its owner writes by a fenced script.
class Report {
 public:
  explicit Report(Console& console) : console_{console} {}

  std::string write(const std::string& token, const std::string& text) {
    return console_.value({"EVAL", script_, "2", key_, key_ + ":fence", text, token});
  }
  std::string write(FencingToken token, const std::string& text) {
    return write(std::to_string(token), text);
  }
  std::string text() { return console_.value({"GET", key_}); }

 private:
  Console& console_;
  const std::string key_ = "{" + unique("report") + "}";
  const std::string script_ = fence::redis("return redis.call('SET', KEYS[1], ARGV[1])");
};

/// What the server says against it.
std::string refusal(Report& report, const std::string& token) {
  try {
    report.write(token, "late");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(RedisFence, ALateWriteOfAFormerOwnerIsRefused) {
  const auto location = support::redis_location();
  Console console{location};
  Report report{console};
  const simba::Client client{
      std::shared_ptr<MutexServiceFactory>{make_redis_factory(support::redis_options(location))}};
  const std::string mutex = unique("fenced");

  Lock lock = client.lock(mutex);
  const FencingToken former = lock.fencing_token();
  EXPECT_EQ(report.write(former, "one"), "OK");
  EXPECT_EQ(report.write(former, "two"), "OK") << "an owner writes more than once";
  lock.unlock_confirmed();
  lock = client.lock(mutex);
  EXPECT_EQ(report.write(lock.fencing_token(), "three"), "OK");

  EXPECT_THAT(refusal(report, std::to_string(former)), HasSubstr("FENCED"));
  EXPECT_EQ(report.text(), "three");
}

TEST(RedisFence, TokensAreComparedExactlyBeyondTheNumbersOfLua) {
  Console console{support::redis_location()};
  Report report{console};
  EXPECT_EQ(report.write("9007199254740993", "one"), "OK");
  EXPECT_THAT(refusal(report, "9007199254740992"), HasSubstr("FENCED"));
  EXPECT_THAT(refusal(report, "999"), HasSubstr("FENCED")) << "shorter is less";
  EXPECT_EQ(report.write("10000000000000000000", "two"), "OK");
  EXPECT_EQ(report.text(), "two");
}

TEST(RedisFence, WithoutATokenNothingIsWritten) {
  Console console{support::redis_location()};
  Report report{console};
  for (const char* token : {"", "0", "-1", "07", "1e5", "seven"}) {
    EXPECT_THAT(refusal(report, token), HasSubstr("must be the fencing token")) << token;
  }
  EXPECT_EQ(report.text(), "nil");
}

}  // namespace
}  // namespace simba::redis::test
