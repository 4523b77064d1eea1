#include "postgresql/feed.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "postgresql/statements.hpp"

namespace simba::postgresql {
namespace {

using namespace std::chrono_literals;
using sql::Hint;
using sql::Waited;

constexpr std::chrono::milliseconds first_pause = 100ms;
constexpr std::chrono::milliseconds longest_pause = 2s;

}  // namespace

ListeningFeed::ListeningFeed(std::shared_ptr<const ConnectSettings> settings,
                             std::chrono::milliseconds connect_timeout, std::shared_ptr<Logger> log)
    : settings_{std::move(settings)},
      connect_timeout_{connect_timeout},
      log_{std::move(log)},
      pause_{first_pause} {}

Hint ListeningFeed::wait(const std::vector<std::string>& /*waited_for*/, LocalTime until,
                         const sql::Wakeup& wakeup) noexcept {
  for (;;) {
    try {
      return wait_or_throw(until, wakeup);
    } catch (const std::exception& error) {
      failed(error.what());
    }
  }
}

Hint ListeningFeed::wait_or_throw(LocalTime until, const sql::Wakeup& wakeup) {
  for (;;) {
    Hint hint;
    const Waited waited = step(until, wakeup, hint);
    if (hint.all || !hint.mutexes.empty()) return hint;
    if (waited == Waited::woken) return {};
    if (waited == Waited::timed_out) {
      const LocalTime now = sql::real_now();
      const bool attempting = stage_ == Stage::connecting || stage_ == Stage::subscribing;
      if (attempting && now >= deadline_) {
        connection_->pass_over_host();
        failed(fmt::format("no answer from {}: timed out", settings_->name()));
      }
      if (now >= until) return {};
    }
  }
}

/// Goes on by one stage, or waits for it until `until`.
Waited ListeningFeed::step(LocalTime until, const sql::Wakeup& wakeup, Hint& hint) {
  Waited waited = Waited::ready;
  switch (stage_) {
    case Stage::down:
      waited = sql::wait_for(wakeup, std::min(until, retry_at_));
      if (waited == Waited::timed_out && sql::real_now() >= retry_at_) begin();
      break;
    case Stage::connecting:
      waited = connection_->connect(std::min(until, deadline_), wakeup);
      if (waited == Waited::ready) {
        connection_->send(statements::listen, {});
        stage_ = Stage::subscribing;
      }
      break;
    case Stage::subscribing:
      waited = connection_->receive(std::min(until, deadline_), wakeup);
      if (waited == Waited::ready) {
        connection_->take_result();
        began_to_listen();
        hint.all = true;
      }
      break;
    case Stage::listening:
      waited = connection_->listen(until, wakeup);
      if (waited == Waited::ready) hint.mutexes = connection_->take_notifications();
      break;
  }
  return waited;
}

void ListeningFeed::begin() {
  deadline_ = sql::real_now() + connect_timeout_;
  connection_ = std::make_unique<Connection>(settings_);
  stage_ = Stage::connecting;
}

void ListeningFeed::began_to_listen() {
  stage_ = Stage::listening;
  pause_ = first_pause;
  if (std::exchange(told_, false) && log_->enabled(LogLevel::info)) {
    log_->log(LogLevel::info,
              fmt::format("{}: notifications of changes work again", settings_->name()));
  }
}

void ListeningFeed::failed(const std::string& why) noexcept {
  connection_.reset();
  stage_ = Stage::down;
  retry_at_ = sql::real_now() + pause_;
  pause_ = std::min(pause_ * 2, longest_pause);
  if (std::exchange(told_, true)) return;
  try {
    log_->log(LogLevel::warn,
              fmt::format("no notifications of changes for now; waiters poll: {}", why));
  } catch (const std::exception&) {  // no memory for the text
  }
}

}  // namespace simba::postgresql
