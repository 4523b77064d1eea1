#include "mysql/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <linux/sockios.h>
#include <mysql.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/current_credentials.hpp"
#include "mysql/greeting.hpp"
#include "simba/core/error.hpp"
#include "sql/workers/connection_guard.hpp"

// Whether the client library, by itself, checks the name for some hosts only, and never the chain
// alone: since 3.4. It then leaves the judgement to us.
#define SIMBA_MYSQL_JUDGES_CERTIFICATES (MARIADB_PACKAGE_VERSION_ID >= 30400)
#if SIMBA_MYSQL_JUDGES_CERTIFICATES
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

/// Exported by the library, but in none of its headers. Adds a function, for all connections of the
/// process, that hears of each read (mode 0) and write; `length` is -1 where that failed.
extern "C" int ma_pvio_register_callback(my_bool add, void (*callback)(int mode, MYSQL* mysql,
                                                                       const unsigned char* bytes,
                                                                       std::size_t length));

namespace simba::mysql {
namespace {

// ---- what the library calls back --------------------------------------------------------------

/// What its callbacks need to know of the connection that it works for on this thread.
struct Call {
  st_mysql& mysql;
  const MySqlOptions& options;
  Allowance& allowance;
};
thread_local const Call* current_call = nullptr;

class CallScope {
 public:
  CallScope(st_mysql& mysql, const MySqlOptions& options, Allowance& allowance)
      : call_{mysql, options, allowance}, outer_{std::exchange(current_call, &call_)} {}
  ~CallScope() { current_call = outer_; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  const Call call_;
  const Call* const outer_;
};

/// Cuts the connection at once. The descriptor stays valid, for its owner to close, and leads
/// nowhere: reading gives an end or an error, and writing raises no signal.
void cut(int descriptor) noexcept {
  ::shutdown(descriptor, SHUT_RDWR);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup3(nowhere, descriptor, O_CLOEXEC);
  ::close(nowhere);
}

/// As long as there is more to read the library reads on without a pause in which we could stop it.
void count_what_is_read(int mode, MYSQL* mysql, const unsigned char* /*bytes*/,
                        std::size_t length) noexcept {
  constexpr std::size_t failed = static_cast<std::size_t>(-1);
  if (mode != 0 || length == failed) return;
  if (current_call == nullptr || mysql != &current_call->mysql) return;
  Allowance& allowance = current_call->allowance;
  if (length <= allowance.left) {
    allowance.left -= length;
    return;
  }
  allowance = {.left = 0, .exceeded = true};
  cut(static_cast<int>(::mysql_get_socket(mysql)));
}

/// Once for the process: it cannot be done for one connection.
bool counts_what_is_read() {
  static const bool registered = ::ma_pvio_register_callback(1, &count_what_is_read) == 0;
  return registered;
}

// ---- whose certificate it is ------------------------------------------------------------------

#if SIMBA_MYSQL_JUDGES_CERTIFICATES

/// How the library's MARIADB_TLS begins; its header cannot be included, as it needs one that is not
/// installed.
struct TlsSession {
  void* data;
  const void* transport;
  SSL* ssl;
};

bool names(X509& certificate, const std::string& host) noexcept {
  const int as_address = ::X509_check_ip_asc(&certificate, host.c_str(), 0);
  if (as_address != -2) return as_address == 1;  // -2: it is not an address
  return ::X509_check_host(&certificate, host.c_str(), host.size(), 0, nullptr) == 1;
}

/// Why a server must not be logged in to, or nullptr.
const char* problem_of(const TlsSession& session, const Call& call) noexcept {
  if (session.transport != call.mysql.net.pvio || session.ssl == nullptr) {
    return "the certificate cannot be read with this version of the client library";
  }
  if (const long result = ::SSL_get_verify_result(session.ssl); result != X509_V_OK) {
    return ::X509_verify_cert_error_string(result);
  }
  if (call.mysql.net.tls_verify_status != 0) return "the certificate was not accepted";
  X509* const certificate = ::SSL_get_peer_certificate(session.ssl);
  if (certificate == nullptr) return "the server has no certificate";
  const bool named =
      call.options.tls.mode != TlsMode::verify || names(*certificate, call.options.host);
  ::X509_free(certificate);
  return named ? nullptr : "the certificate is not for this host name";
}

/// Called by the library before anything but the greeting was answered; not 0 refuses the server.
int judge_certificate(const void* session, unsigned /*wanted*/) noexcept {
  if (current_call == nullptr) return 1;
  const char* problem = problem_of(*static_cast<const TlsSession*>(session), *current_call);
  if (problem == nullptr) return 0;
  auto& net = current_call->mysql.net;
  // Else a host that it takes for local is forgiven.
  net.tls_verify_status |= MARIADB_TLS_VERIFY_ERROR;
  net.last_errno = tls_failed;
  std::snprintf(static_cast<char*>(net.last_error), sizeof net.last_error,
                "TLS/SSL error: certificate verify failed: %s", problem);
  return 1;
}

#endif

/// Lets the library verify what the mode says. Throws Error `unsupported` where it could not.
void configure_verification(st_mysql& mysql, TlsMode mode) {
  bool verifies = mode == TlsMode::verify;
#if SIMBA_MYSQL_JUDGES_CERTIFICATES
  verifies = verifies || mode == TlsMode::verify_ca;
  if (verifies && ::mysql_optionsv(&mysql, MARIADB_OPT_TLS_VERIFICATION_CALLBACK,
                                   reinterpret_cast<const void*>(&judge_certificate)) != 0) {
    throw Error{ErrorKind::unsupported,
                "this version of MariaDB Connector/C cannot check a server's certificate as "
                "tls.mode says; use 3.3, or a later 3.4"};
  }
#else
  // To the loader a later one is the same library.
  if ((verifies || mode == TlsMode::verify_ca) && ::mysql_get_client_version() >= 30400) {
    throw Error{ErrorKind::unsupported,
                "this program was built with MariaDB Connector/C 3.3 and runs with a later one, "
                "which checks certificates differently; rebuild Simba against that version"};
  }
#endif
  // Said in every mode: since 3.4 the default is yes.
  const my_bool value = verifies ? 1 : 0;
  ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &value);
}

// ---- options of the library -------------------------------------------------------------------

// The library runs an operation on a stack of its own, name resolution and TLS included.
constexpr unsigned long stack_size = 256UL * 1024;

// Of rows, in memory: the names of a million mutexes fit into it.
constexpr std::size_t largest_answer = 128UL * 1024 * 1024;

// Of what the library reads before it gives us something: a log-in, or the descriptions of columns,
// which take up to ten times as much in memory.
constexpr std::size_t largest_head = 1024UL * 1024;

// The same for a row. The library's own bound is behind it: it would call that a lost connection.
constexpr std::size_t largest_row = 16UL * 1024 * 1024;
constexpr unsigned long largest_packet = largest_row + largest_head;

constexpr std::size_t most_columns = 32;
constexpr std::size_t most_results = 16;

constexpr const char* system_cas = "/etc/ssl/certs/ca-certificates.crt";

// To whoever answers these prove that the password is known, by a nonce of the server: they give
// away nothing that could be used again.
constexpr const char* proofs = "mysql_native_password,client_ed25519";

// The others give the password itself to a server that asks for it, or encrypt it with a key that
// the server says is its own. (With a key from a file too: the library asks where it cannot read
// it.)
constexpr const char* all_ways_to_authenticate =
    "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password";

/// Half of the time for one address, so that a second one gets a try.
unsigned seconds_for_one_address(std::chrono::milliseconds connect_timeout) {
  const auto half = std::chrono::ceil<std::chrono::seconds>(connect_timeout / 2).count();
  return static_cast<unsigned>(std::clamp<std::int64_t>(half, 1, 3600));
}

void configure_tls(st_mysql& mysql, const TlsOptions& tls) {
  configure_verification(mysql, tls.mode);
  if (!uses_tls(tls.mode)) return;
  const my_bool yes = 1;
  ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
  if (tls.mode != TlsMode::encrypt) {
    // The library checks the chain as soon as it has a CA.
    const char* file = tls.ca_file.empty() ? system_cas : tls.ca_file.c_str();
    if (::access(file, R_OK) != 0) {
      throw Error{ErrorKind::configuration,
                  fmt::format("cannot read CA file {}; check tls.ca_file", file)};
    }
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_CA, file);
  }
  if (!tls.certificate_file.empty()) {
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_CERT, tls.certificate_file.c_str());
    ::mysql_optionsv(&mysql, MYSQL_OPT_SSL_KEY, tls.key_file.c_str());
  }
}

/// Sets the options of a connection that is to be made. Throws Error `configuration` where a TLS
/// file is unusable.
void configure(st_mysql& mysql, const Settings& settings) {
  ::mysql_optionsv(&mysql, MYSQL_OPT_NONBLOCK, static_cast<const void*>(&stack_size));
  ::mysql_optionsv(&mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const unsigned no = 0;
  ::mysql_optionsv(&mysql, MYSQL_OPT_LOCAL_INFILE, &no);
  const unsigned seconds = seconds_for_one_address(settings.options.sql.connect_timeout);
  ::mysql_optionsv(&mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  ::mysql_optionsv(&mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &largest_packet);
  if (settings.trusts_server()) {
    ::mysql_optionsv(&mysql, MARIADB_OPT_RESTRICTED_AUTH, all_ways_to_authenticate);
  } else {
    ::mysql_optionsv(&mysql, MARIADB_OPT_RESTRICTED_AUTH, proofs);
    // To begin with, whatever the server prefers: it then names that of the account.
    ::mysql_optionsv(&mysql, MYSQL_DEFAULT_AUTH, "mysql_native_password");
  }
  ::mysql_optionsv(&mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "simba");
  configure_tls(mysql, settings.options.tls);
}

// ---- sockets, with which the library leaves some things undone --------------------------------

/// Not inherited by programs that this one starts.
void close_on_exec(int descriptor) noexcept { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

/// The library reads and writes encrypted data as if the socket never blocked, but leaves it in
/// blocking mode, in which it shakes hands.
void never_block(int descriptor) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

/// Lets poll() find it readable when it has `bytes`, or its end.
void wake_for(int descriptor, std::size_t bytes) noexcept {
  const int value = static_cast<int>(bytes);
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value);
}

sigset_t pipe_signal() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  return set;
}

bool pending() noexcept {
  sigset_t set;
  return ::sigpending(&set) == 0 && ::sigismember(&set, SIGPIPE) == 1;
}

/// Keeps SIGPIPE, which encrypted writes to a closed connection raise, from this thread.
class NoPipeSignal {
 public:
  /// Does nothing where `needed` is false.
  explicit NoPipeSignal(bool needed) noexcept {
    if (!needed || pending()) return;  // one that pends already is not ours to take
    const sigset_t signal = pipe_signal();
    blocked_ = ::pthread_sigmask(SIG_BLOCK, &signal, &before_) == 0;
  }
  ~NoPipeSignal() {
    if (!blocked_) return;
    const sigset_t signal = pipe_signal();
    const timespec no_time{};
    if (pending()) ::sigtimedwait(&signal, nullptr, &no_time);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  bool blocked_ = false;
  sigset_t before_{};
};

Credentials credentials_for(const Settings& settings) {
  const MySqlOptions& options = settings.options;
  if (!options.credentials) return {.user = options.user, .password = options.password};
  const std::string where = "MySQL at " + settings.place;
  auto found = detail::current_credentials(options.credentials, options.user, where);
  if (!found.user.empty()) return found;
  throw Error{ErrorKind::configuration,
              fmt::format("cannot connect to {}: the credentials callback returned no user, and "
                          "the options name none",
                          where)};
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

Connection::Connection(const Settings& settings)
    : settings_{settings}, mysql_{::mysql_init(nullptr)} {
  if (mysql_ == nullptr || !counts_what_is_read()) {
    if (mysql_ != nullptr) ::mysql_close(mysql_);
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
  const CallScope call{*mysql_, settings_.options, allowance_};
  if (busy() || broken_) unwind();
  ::mysql_close(mysql_);
}

void Connection::begin_connect() {
  const MySqlOptions& options = settings_.options;
  credentials_ = credentials_for(settings_);
  const bool local = !options.unix_socket.empty();
  const NoPipeSignal no_signal{encrypts()};
  operation_ = Operation::connect;
  reply_ = {};
  // Else a host of "localhost" would mean the default socket.
  if (!local) {
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    ::mysql_optionsv(mysql_, MYSQL_OPT_PROTOCOL, &tcp);
  }
  const CallScope call{*mysql_, options, allowance_};
  allowance_ = {.left = largest_head};
  advance(::mysql_real_connect_start(
      &connect_answer_, mysql_, local ? nullptr : options.host.c_str(), credentials_.user.c_str(),
      credentials_.password.reveal().c_str(), options.database.c_str(), local ? 0U : options.port,
      or_null(options.unix_socket), CLIENT_MULTI_STATEMENTS));
}

void Connection::begin_query(std::string_view text) {
  const NoPipeSignal no_signal{encrypts()};
  operation_ = Operation::query;
  reply_ = {};
  answer_size_ = 0;
  text_ = text;
  const CallScope call{*mysql_, settings_.options, allowance_};
  allowance_.left = largest_head;
  advance(::mysql_real_query_start(&answer_, mysql_, text_.data(), text_.size()));
}

int Connection::descriptor() const noexcept {
  if (mysql_->net.pvio == nullptr && !busy()) return -1;
  return static_cast<int>(::mysql_get_socket(mysql_));
}

short Connection::events() const noexcept {
  if (awaits_greeting_) return POLLIN;
  int events = 0;
  if ((waiting_for_ & MYSQL_WAIT_READ) != 0) events |= POLLIN;
  if ((waiting_for_ & MYSQL_WAIT_WRITE) != 0) events |= POLLOUT;
  if ((waiting_for_ & MYSQL_WAIT_EXCEPT) != 0) events |= POLLPRI;
  return static_cast<short>(events);
}

/// `occurred` is of what it waits for: all of it, or that the time is up.
void Connection::go_on(int occurred, LocalTime deadline, const sql::Wakeup& closing) {
  const NoPipeSignal no_signal{encrypts()};
  const CallScope call{*mysql_, settings_.options, allowance_};
  if (operation_ == Operation::connect && encrypts() && !greeted_) {
    awaits_greeting_ = false;
    if (occurred == MYSQL_WAIT_TIMEOUT) {
      greeting_size_ = 0;  // it tries the next address
    } else if (!may_read_greeting()) {
      return;
    }
  }
  // A limit to each of its reads would not do: a server that sends a byte now and then keeps to
  // any.
  std::optional<sql::ConnectionGuard> guard;
  if (operation_ == Operation::connect && greeted_) guard.emplace(descriptor(), deadline, closing);
  advance(resume(occurred));
}

/// Looks at the greeting without taking it off the socket, so that the library reads the same. The
/// library cannot have read it before: it comes back between connecting and reading, since a
/// connect by TCP that does not block is never finished at once. False: not yet, or never.
bool Connection::may_read_greeting() {
  const int own = descriptor();
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  // Not connected: the library finds out why.
  if (::getpeername(own, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return true;
  std::array<char, 256> bytes{};
  const ssize_t size = ::recv(own, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    awaits_greeting_ = true;
    return false;
  }
  if (size <= 0) return true;  // it has hung up
  const std::size_t had = std::exchange(greeting_size_, static_cast<std::size_t>(size));
  const Greeting greeting = read_greeting({bytes.data(), greeting_size_});
  // Woken although nothing came: nothing will.
  if (greeting == Greeting::incomplete && greeting_size_ > had) {
    wake_for(own, greeting_size_ + 1);
    awaits_greeting_ = true;
    return false;
  }
  greeted_ = greeting == Greeting::offers_tls || greeting == Greeting::refuses;
  if (greeted_) {
    wake_for(own, 1);
  } else {
    refuse_connect();
  }
  return greeted_;
}

void Connection::refuse_connect() {
  unwind();
  done();
  broken_ = true;
  reply_ = {.results = {}, .refusal = Refusal{.code = tls_not_offered, .message = {}}};
}

int Connection::resume(int ready) {
  switch (operation_) {
    case Operation::connect:
      return ::mysql_real_connect_cont(&connect_answer_, mysql_, ready);
    case Operation::query:
      return ::mysql_real_query_cont(&answer_, mysql_, ready);
    case Operation::fetch:
      return ::mysql_fetch_row_cont(&row_, rows_, ready);
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
        connected_ = true;
        if (encrypts() && ::mysql_get_ssl_cipher(mysql_) == nullptr) {
          done();
          refuse_connect();
          return 0;
        }
        if (encrypts()) never_block(descriptor());
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
      return begin_result();
    case Operation::fetch:
      return after_row();
    case Operation::none:
      break;
  }
  return 0;
}

/// Row by row, so that there is a bound to them.
int Connection::begin_result() {
  result_ = {};
  result_.columns = ::mysql_field_count(mysql_);
  if (reply_.results.size() >= most_results || result_.columns > most_columns) {
    refuse_answer();
    return 0;
  }
  if (result_.columns == 0) {
    result_.affected = ::mysql_affected_rows(mysql_);
    return end_result();
  }
  rows_ = ::mysql_use_result(mysql_);
  if (rows_ == nullptr) {
    fail();
    return 0;
  }
  operation_ = Operation::fetch;
  return begin_row();
}

int Connection::begin_row() {
  allowance_.left = largest_row;
  return ::mysql_fetch_row_start(&row_, rows_);
}

int Connection::after_row() {
  if (row_ == nullptr) {
    const bool failed = ::mysql_errno(mysql_) != 0;
    ::mysql_free_result(std::exchange(rows_, nullptr));
    if (!failed) return end_result();
    fail();
    return 0;
  }
  const unsigned long* lengths = ::mysql_fetch_lengths(rows_);
  auto& values = result_.rows.emplace_back(result_.columns);
  answer_size_ += sizeof(std::vector<StatementResult::Value>) +
                  result_.columns * sizeof(StatementResult::Value);
  for (std::size_t i = 0; i < result_.columns; ++i) {
    if (row_[i] == nullptr) continue;
    values[i].emplace(row_[i], lengths[i]);
    answer_size_ += lengths[i];
  }
  if (answer_size_ > largest_answer) {
    refuse_answer();
    return 0;
  }
  return begin_row();
}

int Connection::end_result() {
  reply_.results.push_back(std::move(result_));
  if (::mysql_more_results(mysql_) == 0) {
    done();
    return 0;
  }
  operation_ = Operation::next;
  allowance_.left = largest_head;
  return ::mysql_next_result_start(&answer_, mysql_);
}

/// What is left of the answer is not read: the connection is of no use.
void Connection::refuse_answer() {
  if (const int own = descriptor(); own >= 0) cut(own);
  if (rows_ != nullptr) ::mysql_free_result(std::exchange(rows_, nullptr));
  done();
  broken_ = true;
  reply_ = {.results = {}, .refusal = Refusal{.code = answer_too_large, .message = {}}};
}

void Connection::done() noexcept {
  operation_ = Operation::none;
  waiting_for_ = 0;
  due_ = never;
}

void Connection::fail() {
  done();
  if (allowance_.exceeded) {
    refuse_answer();
    return;
  }
  reply_.refusal = Refusal{::mysql_errno(mysql_), ::mysql_error(mysql_)};
  if (!connected_ || breaks_connection(*reply_.refusal)) broken_ = true;
}

Reply Connection::finish(LocalTime deadline, const sql::Wakeup& closing) {
  while (busy()) {
    switch (sql::wait_for(descriptor(), events(), std::min(deadline, due_), closing)) {
      case sql::Waited::ready:
        go_on(waiting_for_ & ~MYSQL_WAIT_TIMEOUT, deadline, closing);
        break;
      case sql::Waited::timed_out:
        if (sql::real_now() < deadline) {
          go_on(MYSQL_WAIT_TIMEOUT, deadline, closing);
          break;
        }
        leave_behind();
        throw time_out();
      case sql::Waited::woken:
        broken_ = true;
        throw Error{ErrorKind::unavailable,
                    fmt::format("connection to MySQL at {} is being closed", settings_.place)};
    }
  }
  // A handshake that was cut at the deadline looks like one that failed.
  if (!connected_ && reply_.refusal && sql::real_now() >= deadline) throw time_out();
  return std::exchange(reply_, {});
}

Error Connection::time_out() const {
  return Error{ErrorKind::timeout,
               fmt::format("{} MySQL at {}: timed out",
                           connected_ ? "no answer from" : "cannot connect to", settings_.place)};
}

bool Connection::mariadb() const noexcept { return ::mariadb_connection(mysql_) != 0; }

std::uint64_t Connection::number() const noexcept { return ::mysql_thread_id(mysql_); }

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
  prepared_ = own;
}

void Connection::leave_behind() noexcept {
  broken_ = true;
  int unconfirmed = 0;
  left_behind_ =
      connected_ && ::ioctl(descriptor(), SIOCOUTQ, &unconfirmed) == 0 && unconfirmed == 0;
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
