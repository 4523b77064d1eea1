#include "postgresql/connection.hpp"

#include <cstddef>
#include <libpq-fe.h>
#include <optional>
#include <poll.h>
#include <utility>

#include <fmt/format.h>

#include "postgresql/errors.hpp"
#include "simba/core/error.hpp"
#include "sql/workers/connection_guard.hpp"

namespace simba::postgresql {
namespace {

using sql::received;
using sql::Waited;

/// No statement of Simba has more; a server that goes on for ever is stopped here.
constexpr int most_results = 8;

/// libpq keeps what comes until a statement is answered, however much that is. So no more is taken
/// than the answer to a look at a hundred thousand mutexes, or to a log-in.
constexpr std::uint64_t longest_answer = std::uint64_t{32} << 20U;
constexpr std::uint64_t longest_greeting = std::uint64_t{1} << 20U;

/// What comes unasked beside notifications, and what a notification has around its payload.
constexpr std::uint64_t longest_chatter = std::uint64_t{1} << 20U;
constexpr std::uint64_t around_payload = 64;

bool readable(int descriptor) noexcept {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

std::vector<const char*> values_of(std::span<const Parameter> parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  return values;
}

}  // namespace

void ResultDeleter::operator()(pg_result* result) const noexcept { PQclear(result); }

template <typename AnyError>
void Connection::fail(const AnyError& error) {
  close();
  throw error;  // NOLINT(cert-err60-cpp): Error is copied without throwing
}

/// A message that is announced as long is read without a pause for as long as there is more of it,
/// so reading may have to be stopped from outside.
template <typename Read>
auto Connection::guarded(Read read, std::uint64_t most) {
  const sql::ConnectionGuard guard{PQsocket(connection_), accounted_ + most};
  const auto answer = read();
  if (guard.exceeded()) refuse_amount(most);
  return answer;
}

Connection::Connection(std::shared_ptr<const ConnectSettings> settings)
    : settings_{std::move(settings)},
      first_host_{settings_->first_host()},
      connection_{settings_->start(first_host_)},
      wanted_{POLLOUT} {
  if (connection_ == nullptr) {
    throw Error{ErrorKind::unavailable, fmt::format("{}: out of memory", database_name())};
  }
  // Notices go nowhere; libpq would print them. Verbose messages have the SQLSTATE, which libpq
  // tells in no other way where connecting fails.
  PQsetNoticeReceiver(
      connection_, [](void*, const PGresult*) {}, nullptr);
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  if (PQstatus(connection_) == CONNECTION_BAD) fail(connect_failure(database_name(), connection_));
}

Connection::~Connection() {
  if (!fork_guard_.in_child()) {
    close();
  } else {
    [[maybe_unused]] auto* leaked = result_.release();
  }
}

void Connection::close() noexcept { PQfinish(std::exchange(connection_, nullptr)); }

void Connection::check_open() const {
  if (connection_ == nullptr) {
    throw Error{ErrorKind::unavailable,
                fmt::format("{}: the connection is closed", database_name())};
  }
}

/// The connection broke. Where the server said why, that is the error.
void Connection::lose() {
  if (refused_) fail(Refusal{*refused_});
  fail(connection_lost(database_name(), connection_));
}

void Connection::open(LocalTime deadline, const sql::Wakeup& closing) {
  const Waited waited = connect(deadline, closing);
  if (waited == Waited::ready) return;
  if (waited == Waited::timed_out) pass_over_host();
  throw Error{ErrorKind::unavailable,
              fmt::format("cannot connect to {}: {}", database_name(),
                          waited == Waited::woken ? "the store is being closed" : "timed out")};
}

Result Connection::run(const char* statement, std::span<const Parameter> parameters,
                       LocalTime deadline, const sql::Wakeup& closing) {
  send(statement, parameters);
  return finish(deadline, closing);
}

Result Connection::finish(LocalTime deadline, const sql::Wakeup& closing) {
  const Waited waited = receive(deadline, closing);
  if (waited == Waited::ready) return take_result();
  close();
  if (waited == Waited::woken) {
    throw Error{ErrorKind::unavailable,
                fmt::format("{}: the store is being closed", database_name())};
  }
  throw Error{ErrorKind::timeout, fmt::format("no answer from {}: timed out", database_name())};
}

Waited Connection::connect(LocalTime until, const sql::Wakeup& wakeup) {
  check_open();
  while (!connected_) {
    const Waited waited = sql::wait_for(PQsocket(connection_), wanted_, until, wakeup);
    if (waited != Waited::ready) return waited;
    check_amount(longest_greeting);
    check_password();
    const auto poll = [this] { return PQconnectPoll(connection_); };
    const PostgresPollingStatusType state =
        wanted_ == POLLIN ? guarded(poll, longest_greeting) : poll();
    if (state == PGRES_POLLING_FAILED) fail(connect_failure(database_name(), connection_));
    connected_ = state == PGRES_POLLING_OK;
    wanted_ = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
  }
  if (PQsetnonblocking(connection_, 1) != 0) lose();
  return Waited::ready;
}

void Connection::check_amount(std::uint64_t most) {
  if (received(PQsocket(connection_)) > accounted_ + most) refuse_amount(most);
}

void Connection::refuse_amount(std::uint64_t most) {
  fail(Error{ErrorKind::internal,
             fmt::format("{}: the server sent more than {} MiB, which no reply should need; is it "
                         "PostgreSQL?",
                         database_name(), most >> 20U)});
}

/// Before anything is sent to the present host. The password may be of the environment or a file,
/// which only libpq knows.
void Connection::check_password() {
  const char* const password = PQpass(connection_);
  const char* const host = PQhost(connection_);
  if (password == nullptr || *password == '\0' || host == nullptr ||
      settings_->may_send_password(host)) {
    return;
  }
  fail(Error{
      ErrorKind::configuration,
      fmt::format(
          "the password of PGPASSWORD or a password file would be sent to {} without "
          "TLS; set tls.mode to verify or PGSSLMODE to verify-full, or choose another mode if "
          "whoever answers there may see it",
          host)});
}

void Connection::begin_statement() {
  check_open();
  accounted_ = received(PQsocket(connection_));
  result_.reset();
  refused_.reset();
  results_ = 0;
  has_read_ = false;
}

void Connection::check_sent(int sent) {
  if (sent != 1) lose();
}

void Connection::send(const char* statement, std::span<const Parameter> parameters) {
  begin_statement();
  const std::vector<const char*> values = values_of(parameters);
  check_sent(PQsendQueryParams(connection_, statement, static_cast<int>(values.size()), nullptr,
                               values.data(), nullptr, nullptr, 0));
}

void Connection::send_prepare(const char* name, const char* statement) {
  begin_statement();
  check_sent(PQsendPrepare(connection_, name, statement, 0, nullptr));
}

void Connection::send_prepared(const char* name, std::span<const Parameter> parameters) {
  begin_statement();
  const std::vector<const char*> values = values_of(parameters);
  check_sent(PQsendQueryPrepared(connection_, name, static_cast<int>(values.size()), values.data(),
                                 nullptr, nullptr, 0));
}

/// Sends what is left to send. True where an answer can be looked for without waiting.
bool Connection::flush_or_wait(short& events) {
  const int left = PQflush(connection_);
  if (left < 0) lose();
  events = left > 0 ? POLLIN | POLLOUT : POLLIN;
  return left == 0 && PQisBusy(connection_) == 0;
}

void Connection::keep(Result result) {
  switch (PQresultStatus(result.get())) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      if (!result_) result_ = std::move(result);
      break;
    case PGRES_FATAL_ERROR:
      // An error may follow an answer: the commit comes last. Without an SQLSTATE it is libpq that
      // tells of a broken connection.
      if (sql_state(result.get()).empty()) lose();
      if (!refused_) {
        refused_ = refusal(database_name(), connection_, result.get(),
                           result_ ? Refused::after_its_answer : Refused::at_once);
      }
      break;
    default:
      fail(Error{ErrorKind::internal,
                 fmt::format("{}: unexpected kind of reply from the server", database_name())});
  }
  if (++results_ > most_results) {
    fail(Error{ErrorKind::internal,
               fmt::format("{}: too many results in the reply from the server", database_name())});
  }
}

Waited Connection::receive(LocalTime until, const sql::Wakeup& wakeup) {
  check_open();
  std::optional<sql::ConnectionGuard> guard;
  for (;;) {
    short events = 0;
    while (!flush_or_wait(events)) {
      const Waited waited = sql::wait_for(PQsocket(connection_), events, until, wakeup);
      if (waited != Waited::ready) return waited;
      check_amount(longest_answer);
      // What the first read announces is not read with it: most answers need no guard.
      if (std::exchange(has_read_, true) && !guard) {
        guard.emplace(PQsocket(connection_), accounted_ + longest_answer);
      }
      const int answer = PQconsumeInput(connection_);
      if (guard && guard->exceeded()) refuse_amount(longest_answer);
      // What came before the end of the connection is still to be read.
      if (answer != 1 && PQisBusy(connection_) != 0) lose();
    }
    Result result{PQgetResult(connection_)};
    if (!result) break;
    keep(std::move(result));
  }
  if (refused_) {
    const Refusal error = *refused_;
    refused_.reset();
    result_.reset();
    if (!usable()) fail(error);
    throw Refusal{error};
  }
  if (PQstatus(connection_) != CONNECTION_OK || !result_) lose();
  return Waited::ready;
}

Waited Connection::listen(LocalTime until, const sql::Wakeup& wakeup) {
  check_open();
  const Waited waited = sql::wait_for(PQsocket(connection_), POLLIN, until, wakeup);
  if (waited != Waited::ready) return waited;
  check_amount(longest_chatter);
  const auto read = [this] { return PQconsumeInput(connection_); };
  if (guarded(read, longest_chatter) != 1) lose();
  return waited;
}

std::vector<std::string> Connection::take_notifications() {
  check_open();
  std::vector<std::string> payloads;
  while (PGnotify* notification = PQnotifies(connection_)) {
    const std::unique_ptr<PGnotify, void (*)(void*)> owner{notification, PQfreemem};
    if (notification->extra == nullptr) continue;
    payloads.emplace_back(notification->extra);
    accounted_ += payloads.back().size() + around_payload;
  }
  return payloads;
}

bool Connection::usable() noexcept {
  if (connection_ == nullptr || PQstatus(connection_) != CONNECTION_OK) return false;
  // What the server says unasked is short; one that never falls silent is of no use.
  const auto read = [this] {
    try {
      return guarded([this] { return PQconsumeInput(connection_); }, longest_answer);
    } catch (...) {
      return 0;
    }
  };
  for (int reads = 0; readable(PQsocket(connection_)); ++reads) {
    if (read() != 1 || reads == 100) {
      close();
      return false;
    }
    while (PGnotify* notification = PQnotifies(connection_)) PQfreemem(notification);
  }
  return PQstatus(connection_) == CONNECTION_OK;
}

}  // namespace simba::postgresql
