#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "chaos/round_files.hpp"
#include "chaos/servers/servers.hpp"
#include "support/patience.hpp"
#include "support/processes/child_process.hpp"
#include "support/servers.hpp"

namespace simba::chaos {

using namespace std::chrono_literals;

LeaseTimes lease_times() {
  return {.ttl = support::scaled(1'200ms),
          .transition = support::scaled(800ms),
          .jitter = 200ms,
          .tick = support::zookeeper_tick,
          .drift_ppm = 20'000};
}

std::string contention_parameters(const LeaseTimes& times) {
  return fmt::format("ttl={}ms&transition={}ms&jitter-low=0ms&jitter-high={}ms&clock-drift-ppm={}",
                     times.ttl.count(), times.transition.count(), times.jitter.count(),
                     times.drift_ppm);
}

std::vector<std::string> jvm_words(const JvmContender& contender) {
  const auto times = lease_times();
  return {contender.record,
          contender.status,
          std::to_string(contender.sight),
          std::to_string(contender.seed),
          mutexes[0],
          contender.id,
          std::to_string(times.ttl.count()),
          std::to_string(times.transition.count()),
          std::to_string(times.drift_ppm)};
}

namespace {

class SqliteFile final : public Servers {
 public:
  explicit SqliteFile(const std::string& folder) : file_{folder + "/simba.db"} {}

  std::string url() const override {
    return fmt::format("sqlite:{}?{}", file_, contention_parameters(lease_times()));
  }
  std::vector<std::uint16_t> ports() const override { return {}; }
  support::Server& with_role(std::string_view /*role*/) override {
    throw std::runtime_error{"SQLite has no server"};
  }

 private:
  const std::string file_;
};

using support::Tls;
using Words = std::vector<std::string>;
using JvmCommand = Words (*)(const JvmContender&, const support::Location&);

std::string ca_file(const support::Location& location) {
  return location.certificates.empty() ? "" : location.certificates + "/ca.crt";
}

template <class Product>
class SingleServer final : public Servers {
 public:
  /// `scheme`: how the URL begins; `rest`: what follows host and port.
  template <class... Arguments>
  SingleServer(std::string scheme, std::string rest, JvmCommand jvm, Arguments&&... arguments)
      : scheme_{std::move(scheme)},
        rest_{std::move(rest)},
        jvm_{jvm},
        server_{std::forward<Arguments>(arguments)...} {}

  std::string url() const override {
    const auto& location = server_.location();
    const auto ca = ca_file(location);
    return fmt::format("{}://simba:{}@127.0.0.1:{}{}{}&{}", scheme_, location.password,
                       location.port, rest_, ca.empty() ? "" : "&tls=verify&ca-file=" + ca,
                       contention_parameters(lease_times()));
  }
  std::vector<std::uint16_t> ports() const override { return {server_.port()}; }
  support::Server& with_role(std::string_view /*role*/) override { return server_; }

  std::vector<std::string> jvm_command(const JvmContender& contender) const override {
    return jvm_ == nullptr ? Words{} : jvm_(contender, server_.location());
  }

 private:
  const std::string scheme_;
  const std::string rest_;
  const JvmCommand jvm_;
  Product server_;
};

/// See run_jvm_on_mysql.
Words jvm_on_mysql(const JvmContender& contender, const support::Location& location) {
  Words words{support::own_program().string(), "jvm-on-mysql"};
  const auto common = jvm_words(contender);
  words.insert(words.end(), common.begin(), common.end());
  words.insert(words.end(), {std::to_string(location.port), location.user, location.password,
                             location.database, ca_file(location)});
  return words;
}

Words jvm_on_redis(const JvmContender& contender, const support::Location& location) {
  return jvm_redis_command(contender, {location.port}, "", location.password);
}

Words durable_mysql() { return {"--innodb-flush-log-at-trx-commit=1", "--skip-log-bin"}; }

/// `Product`: MariaDB or a MySQL; its constructor takes `before` and then the arguments.
template <class Product, class... Before>
std::unique_ptr<Servers> open_mysql(Before... before) {
  return std::make_unique<SingleServer<Product>>("mysql", "/simba?connect-timeout=1s", jvm_on_mysql,
                                                 before..., durable_mysql());
}

}  // namespace

std::unique_ptr<Servers> open_sqlite(const Stage& stage) {
  return std::make_unique<SqliteFile>(stage.folder);
}

std::unique_ptr<Servers> open_mariadb(const Stage& /*stage*/) {
  return open_mysql<support::MariaDbServer>(Tls::off);
}

std::unique_ptr<Servers> open_mysql57(const Stage& /*stage*/) {
  return open_mysql<support::MySqlServer>();
}

std::unique_ptr<Servers> open_mysql97(const Stage& /*stage*/) {
  return open_mysql<support::MySql97Server>();
}

std::unique_ptr<Servers> open_postgresql(const Stage& /*stage*/) {
  return std::make_unique<SingleServer<support::PostgreSqlServer>>(
      "postgresql", "/simba?connect-timeout=1s", nullptr, Tls::off,
      Words{"-c", "fsync=on", "-c", "synchronous_commit=on"});
}

std::unique_ptr<Servers> open_redis(const Stage& /*stage*/) {
  return std::make_unique<SingleServer<support::RedisServer>>(
      "redis", "/0?connect-timeout=1s", jvm_on_redis, Tls::off,
      Words{"--appendonly", "yes", "--appendfsync", "always"});
}

}  // namespace simba::chaos
