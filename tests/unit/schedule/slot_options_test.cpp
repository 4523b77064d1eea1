#include "simba/schedule/slot_options.hpp"

#include <functional>
#include <sstream>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/schedule/run.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

TEST(SlotOptions, SayWhatDiffersFromTheDefaults) {
  EXPECT_EQ(to_string(SlotOptions{}), "defaults");
  std::ostringstream out;
  out << SlotOptions{.promise = SlotPromise::at_least_once,
                     .missed = MissedSlots::all,
                     .while_busy = BusySlots::queue_one,
                     .start_within = 60s,
                     .jitter = 500ms};
  EXPECT_EQ(out.str(),
            "at least once, missed: all, while busy: queue one, start within 60s, jitter 0.5s");
}

TEST(SlotOptions, AreCheckedAgainstTheirBounds) {
  EXPECT_NO_THROW(SlotOptions{}.check());
  const auto refused = [](const std::function<void(SlotOptions&)>& set) {
    SlotOptions options;
    set(options);
    EXPECT_THROW(options.check(), InvalidArgumentError);
  };
  refused([](SlotOptions& options) { options.max_attempts = 0; });
  refused([](SlotOptions& options) { options.max_attempts = 1001; });
  refused([](SlotOptions& options) { options.max_missed = 10'001; });
  refused([](SlotOptions& options) { options.history = 51; });
  refused([](SlotOptions& options) { options.retry_pause = -1ns; });
  refused([](SlotOptions& options) { options.jitter = -1ns; });
  refused([](SlotOptions& options) { options.backfill = 24h * 400; });
  refused([](SlotOptions& options) { options.start_within = -1ns; });
}

TEST(SlotOptions, HaveNamesForTheirValues) {
  EXPECT_EQ(to_string(SlotPromise::at_most_once), "at most once");
  EXPECT_EQ(to_string(MissedSlots::latest), "latest");
  EXPECT_EQ(to_string(BusySlots::cancel_running), "cancel running");
  EXPECT_EQ(to_string(SlotEvent::Kind::stalled), "stalled");
  std::ostringstream out;
  out << RunOutcome::lost;
  EXPECT_EQ(out.str(), "lost");
}

}  // namespace
}  // namespace simba
