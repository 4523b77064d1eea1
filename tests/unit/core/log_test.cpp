#include "simba/core/log.hpp"

#include <sstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "core/log_exception.hpp"
#include "unit/core/doubles.hpp"

namespace simba {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A logger of the user, registered as "simba" for as long as it lives.
class Registered {
 public:
  explicit Registered(const spdlog::sink_ptr& sink) {
    const auto logger = std::make_shared<spdlog::logger>("simba", sink);
    logger->set_level(spdlog::level::debug);
    spdlog::register_logger(logger);
  }
  ~Registered() { spdlog::drop("simba"); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
};

class ThrowingSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& /*message*/) override { throw 42; }
  void flush_() override {}
};

TEST(DefaultLogger, WritesToTheLoggerThatTheUserRegistered) {
  std::ostringstream out;
  const Registered registered{std::make_shared<spdlog::sinks::ostream_sink_mt>(out)};
  const auto log = make_default_logger();
  EXPECT_TRUE(log->enabled(LogLevel::debug));
  log->log(LogLevel::debug, "one");
  log->log(LogLevel::info, "two");
  log->log(LogLevel::warn, "three");
  log->log(LogLevel::error, "four {} %s");
  EXPECT_THAT(out.str(), HasSubstr("[debug] one"));
  EXPECT_THAT(out.str(), HasSubstr("[info] two"));
  EXPECT_THAT(out.str(), HasSubstr("[warning] three"));
  EXPECT_THAT(out.str(), HasSubstr("[error] four {} %s"));
}

TEST(DefaultLogger, WritesToStandardErrorFromLevelInfoOnWhereNoneIsRegistered) {
  testing::internal::CaptureStderr();
  const auto log = make_default_logger();
  EXPECT_FALSE(log->enabled(LogLevel::debug));
  EXPECT_TRUE(log->enabled(LogLevel::info));
  log->log(LogLevel::debug, "quiet");
  log->log(LogLevel::info, "loud");
  const auto text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("loud"));
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_EQ(spdlog::get("simba"), nullptr) << "the name is the user's";
}

TEST(DefaultLogger, SurvivesASinkThatThrows) {
  const Registered registered{std::make_shared<ThrowingSink>()};
  testing::internal::CaptureStderr();
  make_default_logger()->log(LogLevel::error, "lost");
  testing::internal::GetCapturedStderr();
}

TEST(NullLogger, IsNeverEnabledAndDropsEveryLine) {
  const auto log = make_null_logger();
  EXPECT_FALSE(log->enabled(LogLevel::error));
  log->log(LogLevel::error, "nobody reads this");
}

TEST(LogCurrentException, WritesWhereAndWhat) {
  test::LineLog log;
  try {
    throw std::runtime_error{"no luck"};
  } catch (...) {
    detail::log_current_exception(log, "the task");
  }
  try {
    throw 42;
  } catch (...) {
    detail::log_current_exception(log, "the other");
  }
  ASSERT_EQ(log.lines().size(), 2U);
  EXPECT_EQ(log.lines()[0], std::pair(LogLevel::error, std::string{"the task: no luck"}));
  EXPECT_THAT(log.lines()[1].second, HasSubstr("the other: an exception"));
}

}  // namespace
}  // namespace simba
