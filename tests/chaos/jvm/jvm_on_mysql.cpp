#include "chaos/jvm/jvm_on_mysql.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <mysql.h>
#include <random>
#include <stdexcept>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "chaos/checking/record.hpp"
#include "chaos/raw_clock.hpp"
#include "chaos/round_files.hpp"
#include "chaos/shared_page.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;

/// What went wrong with the server or the way to it.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JvmSettings {
  explicit JvmSettings(const std::vector<std::string>& words)
      : record{words.at(0)},
        status{words.at(1)},
        sight{std::stoull(words.at(2))},
        seed{std::stoull(words.at(3))},
        mutex{words.at(4)},
        id{words.at(5)},
        ttl{std::stoll(words.at(6))},
        transition{std::stoll(words.at(7))},
        drift_ppm{std::stoll(words.at(8))},
        port{static_cast<unsigned>(std::stoul(words.at(9)))},
        user{words.at(10)},
        password{words.at(11)},
        database{words.at(12)},
        ca_file{words.at(13)} {}

  std::string record;
  std::string status;
  std::size_t sight;
  std::uint64_t seed;
  std::string mutex;
  std::string id;
  std::int64_t ttl;  // milliseconds
  std::int64_t transition;
  std::int64_t drift_ppm;
  unsigned port;
  std::string user;
  std::string password;
  std::string database;
  std::string ca_file;  // empty: without TLS
};

/// A connection that waits for as long as it takes.
class Database {
 public:
  explicit Database(const JvmSettings& settings)
      : connection_{::mysql_init(nullptr), &::mysql_close} {
    // Version 3.4 of the library insists on TLS unless it is told not to.
    const my_bool tls = settings.ca_file.empty() ? 0 : 1;
    ::mysql_optionsv(connection_.get(), MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &tls);
    if (tls != 0) {
      ::mysql_optionsv(connection_.get(), MYSQL_OPT_SSL_CA, settings.ca_file.c_str());
    }
    if (::mysql_real_connect(connection_.get(), "127.0.0.1", settings.user.c_str(),
                             settings.password.c_str(), settings.database.c_str(), settings.port,
                             nullptr, 0) == nullptr) {
      fail();
    }
    run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  }

  /// Returns the values of the first row; none: it has no columns.
  std::vector<std::string> run(const std::string& text) {
    if (::mysql_real_query(connection_.get(), text.data(), text.size()) != 0) {
      fail();
    }
    std::vector<std::string> values;
    if (MYSQL_RES* const result = ::mysql_store_result(connection_.get())) {
      if (MYSQL_ROW row = ::mysql_fetch_row(result)) {
        for (unsigned i = 0; i < ::mysql_num_fields(result); ++i) {
          values.emplace_back(row[i] == nullptr ? "" : row[i]);
        }
      }
      ::mysql_free_result(result);
    } else if (::mysql_errno(connection_.get()) != 0) {
      fail();
    }
    return values;
  }

 private:
  [[noreturn]] void fail() { throw Broken{::mysql_error(connection_.get())}; }

  std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection_;
};

/// What is written down, and what others that ask this contender are told.
///
/// Threads: `watch` on one, everything else on another.
class JvmRecord {
 public:
  explicit JvmRecord(const JvmSettings& settings)
      : descriptor_{::open(settings.record.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                           0644)},
        status_{settings.status},
        sight_{settings.sight} {
    if (descriptor_ == -1) {
      throw std::system_error{errno, std::generic_category(), settings.record};
    }
  }
  ~JvmRecord() { ::close(descriptor_); }
  JvmRecord(const JvmRecord&) = delete;
  JvmRecord& operator=(const JvmRecord&) = delete;

  bool owns() const noexcept { return number_ != 0; }

  /// The server keeps it for so long from before it was asked, at least.
  void granted(std::int64_t sent, std::int64_t lease) {
    const auto answered = raw_now();
    // What the server still had of it from before is the same ownership.
    if (!owns() && answered >= until_) {
      ++last_;
    }
    until_ = sent + lease;
    write(fmt::format("granted {} {} {}\n", last_, answered, until_.load()));
    number_ = last_;
  }

  void yields() {
    write(fmt::format("yields {} {}\n", number_.load(), raw_now()));
    until_ = 0;
    number_ = 0;
  }

  void lost() noexcept { number_ = 0; }

  void locked(std::int64_t begin) {
    constexpr auto long_time = 50 * nanoseconds_per_millisecond;
    if (const auto end = raw_now(); end - begin > long_time) {
      write(fmt::format("locks {} {}\n", begin, end));
    }
  }

  void watch(const std::stop_token& stop) {
    auto& owned_at = status_->sights[sight_ / sizeof(status_->sights[0])][0].owned_at;
    while (!stop.stop_requested()) {
      const auto number = number_.load();
      const auto now = raw_now();
      if (number != 0 && number == number_) {
        write(fmt::format("believes {} {}\n", number, now));
        if (now < until_) {
          owned_at.store(now);
        }
      }
      std::this_thread::sleep_for(4ms);
    }
  }

 private:
  void write(const std::string& line) const noexcept {
    if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      ::_exit(exit_unrecorded);
    }
  }

  const int descriptor_;
  const SharedPage<Status> status_;
  const std::size_t sight_;
  std::uint64_t last_ = 0;
  std::atomic<std::uint64_t> number_{0};  // of the ownership, by its own account; 0: none
  std::atomic<std::int64_t> until_{0};    // the server surely keeps it
};

class Contender {
 public:
  Contender(const JvmSettings& settings, JvmRecord& record)
      : settings_{settings}, record_{record}, random_{settings.seed} {}

  void act() {
    if (!database_) {
      database_ = std::make_unique<Database>(settings_);
    }
    const auto now = raw_now();
    if (record_.owns() && now >= end_) {
      release();
    } else if (now >= next_) {
      acquire();
    }
  }

  /// It steps down at the first failure, and continues on a new connection.
  void broken() {
    record_.lost();
    database_.reset();
    wait(20);
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution{low, high}(random_);
  }

  void wait(std::int64_t milliseconds) {
    next_ = raw_now() + std::max<std::int64_t>(milliseconds, 0) * nanoseconds_per_millisecond;
  }

  /// Acquires and renews alike. The lease counts from the beginning of the UPDATE, however long
  /// that waits for the row.
  void acquire() {
    const std::string now = "CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)";
    const auto lease = settings_.ttl + settings_.transition;
    database_->run(fmt::format("INSERT IGNORE INTO simba_mutex VALUES ('{}', 0, 0, 0, '', 0)",
                               settings_.mutex));
    database_->run("START TRANSACTION");
    const auto sent = raw_now();
    database_->run(fmt::format(
        "UPDATE simba_mutex SET acquired_at = {0}, ttl_at = {0} + {1}, transition_at = {0} + {2}, "
        "owner_id = '{3}', version = version + 1 WHERE mutex = '{4}' AND ((transition_at < {0}) OR "
        "(owner_id = '{3}' AND transition_at > {0}))",
        now, settings_.ttl, lease, settings_.id, settings_.mutex));
    const auto row = database_->run(
        fmt::format("SELECT owner_id, CAST(transition_at AS SIGNED) - CAST({} AS SIGNED) FROM "
                    "simba_mutex WHERE mutex = '{}'",
                    now, settings_.mutex));
    database_->run("COMMIT");
    record_.locked(sent);
    if (row.size() == 2 && row[0] == settings_.id) {
      if (!record_.owns()) {
        // As ours do, it stays now and then until it loses the mutex, if that comes soon.
        end_ = raw_now() +
               (between(0, 7) == 0 ? 4'000 : between(50, 600)) * nanoseconds_per_millisecond;
      }
      record_.granted(sent, lease * (1'000'000 - settings_.drift_ppm));  // ms and ppm: nanoseconds
      wait(settings_.ttl);
      return;
    }
    record_.lost();
    // It asks again when the lease that it knows of is over, and so gets the mutex seldom beside
    // those that look all the time. Now and then it gives up and begins anew, by asking.
    const std::int64_t over = (row.size() == 2 ? std::stoll(row[1]) : 0) + between(-200, 1'000);
    wait(between(0, 1) == 0 ? over : std::min(over, between(20, 400)));
  }

  void release() {
    record_.yields();
    wait(between(10, 60));
    database_->run(fmt::format(
        "UPDATE simba_mutex SET acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = '', "
        "version = version + 1 WHERE mutex = '{}' AND owner_id = '{}'",
        settings_.mutex, settings_.id));
  }

  const JvmSettings& settings_;
  JvmRecord& record_;
  std::mt19937_64 random_;
  std::unique_ptr<Database> database_;
  std::int64_t next_ = 0;  // when to ask
  std::int64_t end_ = 0;   // when an owner gives the mutex back
};

}  // namespace

int run_jvm_on_mysql(const std::vector<std::string>& words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) {
    return EXIT_FAILURE;  // it was too late
  }
  const JvmSettings settings{words};
  JvmRecord record{settings};
  const std::jthread watcher{[&](const std::stop_token& stop) { record.watch(stop); }};
  // A server may never answer: nothing but the process ends that wait.
  const std::jthread ender{[] {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    int number = 0;
    while (::sigwait(&signals, &number) != 0) {
    }
    ::_exit(EXIT_SUCCESS);
  }};
  Contender contender{settings, record};
  for (;;) {
    try {
      contender.act();
    } catch (const Broken&) {
      contender.broken();
    }
    std::this_thread::sleep_for(4ms);
  }
}

}  // namespace simba::chaos
