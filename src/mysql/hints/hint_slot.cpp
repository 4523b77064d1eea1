#include "mysql/hints/hint_slot.hpp"

#include <algorithm>
#include <poll.h>

#include "mysql/answer.hpp"
#include "mysql/statements.hpp"

namespace simba::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds first_pause = seconds{1};
constexpr milliseconds longest_pause = seconds{30};

/// A wait takes two seconds at most; well beyond that the connection counts as dead.
constexpr milliseconds longest_wait = seconds{5};

/// A wait that ends sooner without a hint is not repeated at once.
constexpr milliseconds shortest_wait{250};

/// After a hint the slot lets others be told, for the round in which its mutex is looked at and
/// acquired: whoever was told need not be told again, and is seen to wait no more only after that.
constexpr int rounds_after_hint = 2;

// What a wait answers.
constexpr std::uint64_t waited = 0;
constexpr std::uint64_t ended = 1;
constexpr std::uint64_t session_gone = 3;

}  // namespace

int HintSlot::descriptor() const noexcept { return connection_ ? connection_->descriptor() : -1; }

short HintSlot::events() const noexcept {
  if (!connection_) return 0;
  return connection_->busy() ? connection_->events() : static_cast<short>(POLLIN);
}

void HintSlot::aim(std::string mutex) {
  aim_ = std::move(mutex);
  if (rests_for_ > 0) --rests_for_;
}

LocalTime HintSlot::due() const noexcept {
  if (connection_ && connection_->busy()) return std::min(overdue_, connection_->due());
  return wants_to_wait() ? not_before_ : never;
}

/// A wait needs a session to wait for, which comes with the first look.
bool HintSlot::wants_to_wait() const noexcept {
  return !aim_.empty() && rests_for_ == 0 && server_->open_session();
}

std::optional<std::string> HintSlot::go_on(short ready, LocalTime now) {
  try {
    std::optional<std::string> hint;
    if (connection_ && connection_->busy()) {
      connection_->go_on(ready);
      if (!connection_->busy()) {
        hint = finished(now);
      } else if (now >= overdue_) {
        fail("no answer in time", now);
      }
    } else if (is_idle() && ready != 0 && !connection_->alive()) {
      close();  // the server ends idle connections when it likes
    }
    if (!connection_ && !aim_.empty() && now >= not_before_) connect(now);
    if (is_idle()) begin(now);
    return hint;
  } catch (const Error& error) {
    fail(error.what(), now);
    return std::nullopt;
  }
}

void HintSlot::connect(LocalTime now) {
  connected_ = false;
  unlimited_ = false;
  connection_ = std::make_unique<Connection>(server_->settings);
  begun_ = now;
  overdue_ = now + server_->settings.options.sql.connect_timeout;
  connection_->begin_connect();
  if (!connection_->busy()) finished(now);
}

/// Begins the next wait, or lets go of what nobody waits for any more.
void HintSlot::begin(LocalTime now) {
  const auto session = server_->open_session();
  const bool waits = wants_to_wait() && session && now >= not_before_;
  const std::string next = waits ? aim_ : std::string{};
  if (next.empty() && locked_.empty()) return;
  const std::string& database = server_->settings.options.database;
  std::string text;
  before_wait_ = 0;
  const auto add = [&](std::string_view statement) {
    if (!text.empty()) text += ';';
    text += statement;
    ++before_wait_;
  };
  if (!unlimited_) add(statements::set_up_waits(connection_->mariadb()));
  if (!locked_.empty() && locked_ != next) add(statements::wait_no_more(database, locked_));
  if (waits) {
    add(statements::wait_for_release(database, next, session->connection));
    --before_wait_;
    session_ = session->serial;
  }
  unlimited_ = true;
  locked_ = next;
  waits_for_ = next;
  begun_ = now;
  overdue_ = now + longest_wait;
  server_->connection_waits(connection_->number(), next);
  connection_->begin_query(text);
}

std::optional<std::string> HintSlot::finished(LocalTime now) {
  const Reply reply = connection_->take_reply();
  if (!connected_) {
    if (reply.refusal) throw to_error(server_->settings, *reply.refusal, Phase::connecting);
    if (server_->settings.options.tls.mode != TlsMode::off && !connection_->encrypted()) {
      throw Error{ErrorKind::configuration, "the server does not support TLS"};
    }
    connected_ = true;
    return std::nullopt;
  }
  const std::string mutex = std::exchange(waits_for_, {});
  server_->connection_waits(connection_->number(), {});
  if (reply.refusal && reply.refusal->code != query_killed) {
    throw to_error(server_->settings, *reply.refusal, Phase::asking);
  }
  bool was_ended = reply.refusal.has_value();
  if (was_ended && reply.results.size() < before_wait_) {
    close();  // killed before the wait began: it may still hold a lock that was to be released
    return std::nullopt;
  }
  if (mutex.empty()) return std::nullopt;
  if (!was_ended) {
    const StatementResult& result = answer::last(reply);
    const auto how = result.rows.empty() ? std::nullopt : answer::number(result.rows.front(), 0);
    was_ended = how == ended;
    if (how == session_gone) {
      server_->session_closed(session_);
    } else if (!was_ended) {
      if (now - begun_ < shortest_wait) not_before_ = now + first_pause;
      if (how != waited) locked_.clear();
    }
  }
  pause_ = milliseconds::zero();
  server_->hints_work();
  if (!was_ended) return std::nullopt;
  rests_for_ = rounds_after_hint;
  return mutex;
}

void HintSlot::fail(const std::string& why, LocalTime now) {
  close();
  pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
  not_before_ = now + pause_;
  server_->hints_failed(why);
}

void HintSlot::close() noexcept {
  if (connection_) {
    server_->connection_waits(connection_->number(), {});
    connection_->give_up();
  }
  connection_.reset();
  connected_ = false;
  waits_for_.clear();
  locked_.clear();
}

}  // namespace simba::mysql
