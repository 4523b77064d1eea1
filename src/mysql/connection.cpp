#include "mysql/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mysql.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "mysql/client_options.hpp"
#include "mysql/socket.hpp"

namespace simba::mysql {
namespace {

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

Connection::Connection(const Settings& settings)
    : settings_{settings}, mysql_{::mysql_init(nullptr)} {
  if (mysql_ == nullptr) {
    throw Error{ErrorKind::internal, "out of memory in the MySQL client library"};
  }
  try {
    configure(*mysql_, settings_);
  } catch (...) {
    ::mysql_close(mysql_);
    throw;
  }
}

Connection::~Connection() {
  if (fork_.in_child()) {  // the connection is the parent's: say nothing on it
    if (const int own = descriptor(); own >= 0) ::close(own);
    return;
  }
  const NoPipeSignal no_signal{encrypts()};
  if (busy() || broken_) unwind();
  ::mysql_close(mysql_);
}

void Connection::begin_connect() {
  const MySqlOptions& options = settings_.options;
  const bool local = !options.unix_socket.empty();
  const NoPipeSignal no_signal{encrypts()};
  operation_ = Operation::connect;
  reply_ = {};
  // Else a host of "localhost" would mean the default socket.
  if (!local) {
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    ::mysql_optionsv(mysql_, MYSQL_OPT_PROTOCOL, &tcp);
  }
  advance(::mysql_real_connect_start(
      &connect_answer_, mysql_, local ? nullptr : options.host.c_str(), options.user.c_str(),
      options.password.reveal().c_str(), options.database.c_str(), local ? 0U : options.port,
      or_null(options.unix_socket), CLIENT_MULTI_STATEMENTS));
}

void Connection::begin_query(std::string_view text) {
  const NoPipeSignal no_signal{encrypts()};
  operation_ = Operation::query;
  reply_ = {};
  text_ = text;
  advance(::mysql_real_query_start(&answer_, mysql_, text_.data(), text_.size()));
}

int Connection::descriptor() const noexcept {
  if (mysql_->net.pvio == nullptr && !busy()) return -1;
  return static_cast<int>(::mysql_get_socket(mysql_));
}

short Connection::events() const noexcept {
  int events = 0;
  if ((waiting_for_ & MYSQL_WAIT_READ) != 0) events |= POLLIN;
  if ((waiting_for_ & MYSQL_WAIT_WRITE) != 0) events |= POLLOUT;
  if ((waiting_for_ & MYSQL_WAIT_EXCEPT) != 0) events |= POLLPRI;
  return static_cast<short>(events);
}

void Connection::go_on(short ready) {
  if (!busy()) return;
  int occurred = 0;
  if ((ready & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    occurred = waiting_for_ & ~MYSQL_WAIT_TIMEOUT;
  } else {
    if ((ready & POLLIN) != 0) occurred |= MYSQL_WAIT_READ;
    if ((ready & POLLOUT) != 0) occurred |= MYSQL_WAIT_WRITE;
    if ((ready & POLLPRI) != 0) occurred |= MYSQL_WAIT_EXCEPT;
  }
  if (occurred == 0 && sql::real_now() >= due_) occurred = MYSQL_WAIT_TIMEOUT;
  if (occurred == 0) return;
  const NoPipeSignal no_signal{encrypts()};
  advance(resume(occurred));
}

int Connection::resume(int ready) {
  switch (operation_) {
    case Operation::connect:
      return ::mysql_real_connect_cont(&connect_answer_, mysql_, ready);
    case Operation::query:
      return ::mysql_real_query_cont(&answer_, mysql_, ready);
    case Operation::store:
      return ::mysql_store_result_cont(&stored_, mysql_, ready);
    case Operation::next:
      return ::mysql_next_result_cont(&answer_, mysql_, ready);
    case Operation::none:
      break;
  }
  return 0;
}

/// Goes from step to step until one has to wait or the operation is finished.
void Connection::advance(int waiting_for) {
  while (waiting_for == 0) {
    waiting_for = after_step();
    if (!busy()) return;
  }
  if (!connected_) prepare_socket();
  waiting_for_ = waiting_for;
  due_ = (waiting_for & MYSQL_WAIT_TIMEOUT) == 0
             ? never
             : sql::real_now() + std::chrono::milliseconds{::mysql_get_timeout_value_ms(mysql_)};
}

/// A step is finished: begins the next one and answers what that waits for.
int Connection::after_step() {
  switch (operation_) {
    case Operation::connect:
      if (connect_answer_ == nullptr) {
        fail();
      } else {
        prepare_socket();
        if (encrypts()) never_block(descriptor());
        connected_ = true;
        done();
      }
      return 0;
    case Operation::query:
    case Operation::next:
      if (operation_ == Operation::next && answer_ < 0) {  // there is none
        done();
        return 0;
      }
      if (answer_ != 0) {
        fail();
        return 0;
      }
      operation_ = Operation::store;
      return ::mysql_store_result_start(&stored_, mysql_);
    case Operation::store:
      return after_store();
    case Operation::none:
      break;
  }
  return 0;
}

int Connection::after_store() {
  StatementResult result;
  if (stored_ != nullptr) {
    result.columns = ::mysql_num_fields(stored_);
    while (MYSQL_ROW row = ::mysql_fetch_row(stored_)) {
      const unsigned long* lengths = ::mysql_fetch_lengths(stored_);
      auto& values = result.rows.emplace_back(result.columns);
      for (std::size_t i = 0; i < result.columns; ++i) {
        if (row[i] != nullptr) values[i].emplace(row[i], lengths[i]);
      }
    }
    ::mysql_free_result(std::exchange(stored_, nullptr));
  } else if (::mysql_field_count(mysql_) != 0) {
    fail();
    return 0;
  } else {
    result.affected = ::mysql_affected_rows(mysql_);
  }
  reply_.results.push_back(std::move(result));
  if (::mysql_more_results(mysql_) == 0) {
    done();
    return 0;
  }
  operation_ = Operation::next;
  return ::mysql_next_result_start(&answer_, mysql_);
}

void Connection::done() noexcept {
  operation_ = Operation::none;
  waiting_for_ = 0;
  due_ = never;
}

void Connection::fail() {
  done();
  reply_.refusal = Refusal{::mysql_errno(mysql_), ::mysql_error(mysql_)};
  if (!connected_ || breaks_connection(*reply_.refusal)) broken_ = true;
}

Reply Connection::take_reply() { return std::exchange(reply_, {}); }

Reply Connection::finish(LocalTime deadline, const sql::Wakeup& closing) {
  while (busy()) {
    switch (sql::wait_for(descriptor(), events(), std::min(deadline, due_), closing)) {
      case sql::Waited::ready:
        go_on(POLLERR);
        break;
      case sql::Waited::timed_out:
        if (sql::real_now() < deadline) {
          go_on(0);
          break;
        }
        broken_ = true;
        throw Error{
            ErrorKind::timeout,
            fmt::format("{} MySQL at {}: timed out",
                        connected_ ? "no answer from" : "cannot connect to", settings_.place)};
      case sql::Waited::woken:
        broken_ = true;
        throw Error{ErrorKind::unavailable,
                    fmt::format("connection to MySQL at {} is being closed", settings_.place)};
    }
  }
  return take_reply();
}

bool Connection::encrypted() const noexcept { return ::mysql_get_ssl_cipher(mysql_) != nullptr; }

std::uint64_t Connection::number() const noexcept { return ::mysql_thread_id(mysql_); }

bool Connection::mariadb() const noexcept { return ::mariadb_connection(mysql_) != 0; }

bool Connection::alive() const noexcept {
  if (broken_ || !connected_) return false;
  char byte = 0;
  return ::recv(descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Connection::prepare_socket() noexcept {
  const int own = descriptor();
  if (own < 0 || own == prepared_) return;
  close_on_exec(own);
  if (encrypts()) limit_blocking(own, settings_.options.sql.connect_timeout / 2);
  prepared_ = own;
}

/// Brings an operation under way to its end by cutting the connection, so that what the library
/// holds on its own stack is freed, and so that closing has nothing to wait for.
void Connection::unwind() noexcept {
  constexpr int most_addresses = 64;
  try {
    for (int i = 0; i < most_addresses; ++i) {
      if (const int own = descriptor(); own >= 0) cut(own);
      if (!busy()) return;
      advance(resume(waiting_for_));
    }
  } catch (...) {  // no memory for the message: the operation is abandoned as it is
    operation_ = Operation::none;
  }
}

}  // namespace simba::mysql
