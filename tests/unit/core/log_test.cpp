#include "simba/core/log.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "core/log_exception.hpp"
#include "simba/core/runtime.hpp"
#include "unit/core/doubles.hpp"
#include "unit/core/forked.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using test::Gate;
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

/// A logger of a user that does what it is told to.
class WilfulLog final : public Logger {
 public:
  std::function<bool(LogLevel)> on_enabled = [](LogLevel) { return true; };
  std::function<void(LogLevel, std::string_view)> on_log = [](LogLevel, std::string_view) {};

  bool enabled(LogLevel level) const override { return on_enabled(level); }
  void log(LogLevel level, std::string_view message) override { on_log(level, message); }
};

TEST(QueuedLogger, PassesLinesOnInOrderWithTheTimeAtWhichTheyWereLogged) {
  std::ostringstream out;
  const Registered registered{std::make_shared<spdlog::sinks::ostream_sink_mt>(out)};
  spdlog::get("simba")->set_pattern("%E%F %v");  // seconds, then nanoseconds
  std::vector<std::chrono::nanoseconds> logged;
  {
    const auto log = make_queued_logger(make_default_logger());
    for (int i = 0; i < 1'000; ++i) {
      logged.push_back(std::chrono::system_clock::now().time_since_epoch());
      log->log(LogLevel::info, std::to_string(i));
    }
    EXPECT_TRUE(log->flush(30s));
    logged.push_back(std::chrono::system_clock::now().time_since_epoch());
  }
  std::istringstream in{out.str()};
  for (int i = 0; i < 1'000; ++i) {
    std::int64_t stamp = 0;
    int line = -1;
    in >> stamp >> line;
    ASSERT_EQ(line, i);
    const auto n = static_cast<std::size_t>(i);
    EXPECT_GE(stamp, logged[n].count());
    EXPECT_LE(stamp, logged[n + 1].count());
  }
}

TEST(QueuedLogger, EscapesWhatWouldSteerATerminalOrBreakTheLine) {
  std::ostringstream out;
  const Registered registered{std::make_shared<spdlog::sinks::ostream_sink_mt>(out)};
  spdlog::get("simba")->set_pattern("%v");
  {
    const auto log = make_queued_logger(make_default_logger());
    log->log(LogLevel::info, "owned by \x1b[31mann\n\u202eöl\x9b");
    EXPECT_TRUE(log->flush(30s));
  }
  EXPECT_EQ(out.str(), "owned by \\x1b[31mann\\x0a\\u{202e}öl\\x9b\n");
}

TEST(QueuedLogger, NeverWaitsForALoggerThatBlocksAndSaysWhatItDropped) {
  Gate stuck;
  Gate go_on;
  std::atomic<bool> blocks{true};
  const auto kept = std::make_shared<test::LineLog>();
  const auto blocked = std::make_shared<WilfulLog>();
  blocked->on_log = [&](LogLevel level, std::string_view message) {
    if (blocks.exchange(false)) {
      stuck.open();
      go_on.opens();
    }
    kept->log(level, message);
  };
  const auto log = make_queued_logger(blocked);
  log->log(LogLevel::info, "the one it is stuck in");
  ASSERT_TRUE(stuck.opens());
  for (int i = 0; i < 10'000; ++i) log->log(LogLevel::info, "queued");
  EXPECT_EQ(log->dropped(), 0U);
  for (int i = 0; i < 7; ++i) log->log(LogLevel::error, "dropped");
  EXPECT_EQ(log->dropped(), 7U);
  EXPECT_TRUE(log->enabled(LogLevel::debug)) << "asks nobody";
  EXPECT_FALSE(log->flush(0s));
  go_on.open();
  EXPECT_TRUE(log->flush(30s));
  log->log(LogLevel::info, "after");
  EXPECT_TRUE(log->flush(30s));
  const auto lines = kept->lines();
  ASSERT_EQ(lines.size(), 10'003U);
  EXPECT_EQ(lines[10'001].first, LogLevel::warn);
  EXPECT_THAT(lines[10'001].second, HasSubstr("7 log lines dropped"));
  EXPECT_EQ(lines[10'002].second, "after");
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const auto& line) { return line.first == LogLevel::error; }),
            0);
}

TEST(QueuedLogger, EndsThoughItsLoggerNeverReturns) {
  const auto go_on = std::make_shared<Gate>();
  Gate stuck;
  const auto blocked = std::make_shared<WilfulLog>();
  std::atomic<int> written{0};
  blocked->on_log = [&, go_on](LogLevel, std::string_view) {
    ++written;
    stuck.open();
    go_on->opens();
  };
  auto log = make_queued_logger(blocked);
  log->log(LogLevel::info, "the one it is stuck in");
  log->log(LogLevel::info, "given up");
  ASSERT_TRUE(stuck.opens());
  const auto begin = std::chrono::steady_clock::now();
  log.reset();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s) << "it may come to itself";
  go_on->open();
  EXPECT_TRUE(test::eventually([] { return test::threads_named("simba-log") == 0; }));
  EXPECT_EQ(written, 1);
}

TEST(QueuedLogger, SurvivesALoggerThatThrows) {
  const auto throwing = std::make_shared<WilfulLog>();
  std::atomic<int> lines{0};
  throwing->on_log = [&](LogLevel, std::string_view) {
    if (++lines == 1) throw std::runtime_error{"disk full"};
    throw 42;
  };
  throwing->on_enabled = [](LogLevel) -> bool { throw 42; };
  const auto log = make_queued_logger(throwing);
  EXPECT_TRUE(log->enabled(LogLevel::debug)) << "rather too much than nothing";
  log->log(LogLevel::info, "one");
  log->log(LogLevel::info, "two");
  EXPECT_TRUE(log->flush(30s));
  EXPECT_EQ(lines, 2);
}

TEST(QueuedLogger, NoticesThatALevelIsWantedFromNowOn) {
  const auto changing = std::make_shared<WilfulLog>();
  std::atomic<bool> verbose{false};
  changing->on_enabled = [&](LogLevel level) { return verbose || level >= LogLevel::info; };
  const auto log = make_queued_logger(changing);
  EXPECT_FALSE(log->enabled(LogLevel::debug));
  EXPECT_TRUE(log->enabled(LogLevel::info));
  verbose = true;
  EXPECT_TRUE(test::eventually([&] { return log->enabled(LogLevel::debug); }));
}

TEST(QueuedLogger, MayEndOnItsOwnThread) {
  const auto last = std::make_shared<WilfulLog>();
  const auto held = std::make_shared<std::shared_ptr<const Runtime>>();
  Gate others_let_go;
  Gate ended;
  const auto written = std::make_shared<std::atomic<int>>(0);
  last->on_log = [&, held, written](LogLevel, std::string_view) {
    if (++*written > 1) return;
    others_let_go.opens();
    held->reset();
    ended.open();
  };
  auto runtime = make_runtime({.log = last});
  *held = runtime;
  runtime->log->log(LogLevel::info, "one");
  runtime->log->log(LogLevel::info, "two");
  runtime.reset();
  others_let_go.open();
  EXPECT_TRUE(ended.opens());
  EXPECT_TRUE(test::eventually([&] { return *written == 2; }));
  for (const auto* name : {"simba-log", "simba-timer", "simba-call"}) {
    EXPECT_TRUE(test::eventually([&] { return test::threads_named(name) == 0; })) << name;
  }
}

TEST(QueuedLogger, DropsWhatAForkedChildLogsAndMayBeDestroyedThere) {
  Gate stuck;
  Gate go_on;
  const auto blocked = std::make_shared<WilfulLog>();
  blocked->on_log = [&](LogLevel, std::string_view) {
    stuck.open();
    go_on.opens();
  };
  auto log = make_queued_logger(blocked);
  log->log(LogLevel::info, "one");
  ASSERT_TRUE(stuck.opens());
  EXPECT_TRUE(test::in_forked_child([&] {
    log->log(LogLevel::info, "two");
    const bool flushed = log->flush(30s);
    const bool good = log->dropped() == 1 && !flushed;
    log.reset();
    return good;
  }));
  go_on.open();
  EXPECT_TRUE(log->flush(30s));
  EXPECT_EQ(log->dropped(), 0U);
}

TEST(QueuedLogger, IsNotPutBeforeAQueueOrBeforeNothing) {
  const auto null = make_null_logger();
  EXPECT_EQ(make_queued_logger(null), null);
  const auto queued = make_queued_logger(std::make_shared<test::LineLog>());
  EXPECT_EQ(make_queued_logger(queued), queued);
  EXPECT_EQ(make_runtime({.log = queued})->log, queued);
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
  EXPECT_THAT(log.lines()[1].second, HasSubstr("the other: unknown exception"));
}

}  // namespace
}  // namespace simba
