// One row for each key of each store: what it sets, wherever its value comes from.
#include "config/stores/stores.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/read/sections.hpp"
#include "config/read/url_settings.hpp"
#include "config/store_settings.hpp"
#include "config/store_types.hpp"
#include "simba/memory/memory_factory.hpp"
#include "simba/mysql/mysql_factory.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "simba/redis/redis_options.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"
#include "support/temporary_folder.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;

/// A value for a key, and how the options look then, and only then.
struct KeyRow {
  std::string key{};
  std::string value{};
  std::function<bool(const StoreOptions&)> seen{};
  std::string url{};  ///< that says so by another part than a parameter; empty: by that
};

/// The rows of a store with these options.
template <class Options>
class KeyRows {
 public:
  template <class Seen>
  void add(std::string key, std::string value, Seen seen, std::string url = {}) {
    rows_.push_back({.key = std::move(key),
                     .value = std::move(value),
                     .seen =
                         [seen](const StoreOptions& options) {
                           return static_cast<bool>(
                               seen(dynamic_cast<const WithOptions<Options>&>(options).complete()));
                         },
                     .url = std::move(url)});
  }

  std::vector<KeyRow> take() { return std::move(rows_); }

 private:
  std::vector<KeyRow> rows_;
};

/// `of` finds the contention options. No two values are the same, so that no key passes for
/// another.
template <class Options, class Find>
void add_contention(KeyRows<Options>& rows, Find of) {
  const auto add = [&](std::string key, std::string value, auto seen) {
    rows.add(std::move(key), std::move(value),
             [=](const Options& options) { return seen(of(options)); });
  };
  add("initial-delay", "11s", [](const auto& o) { return o.initial_delay == 11s; });
  add("ttl", "12s", [](const auto& o) { return o.ttl == 12s; });
  add("transition", "13s", [](const auto& o) { return o.transition == 13s; });
  add("margin", "14ms", [](const auto& o) { return o.margin == 14ms; });
  add("clock-drift-ppm", "15", [](const auto& o) { return o.clock_drift_ppm == 15; });
  add("renew-at-percent", "16", [](const auto& o) { return o.renew_at_percent == 16; });
  add("renew-grid", "17ms", [](const auto& o) { return o.renew_grid == 17ms; });
  add("request-timeout", "18ms", [](const auto& o) { return o.request_timeout == 18ms; });
  add("retry-min", "19ms", [](const auto& o) { return o.retry_min == 19ms; });
  add("retry-max", "20ms", [](const auto& o) { return o.retry_max == 20ms; });
  add("retry-refused", "21s", [](const auto& o) { return o.retry_refused == 21s; });
  add("jitter-low", "-22ms", [](const auto& o) { return o.jitter.low == -22ms; });
  add("jitter-high", "-23ms", [](const auto& o) { return o.jitter.high == -23ms; });
  add("drain-limit", "2m", [](const auto& o) { return o.drain_limit == 120s; });
  add("release-wait", "24ms", [](const auto& o) { return o.release_wait == 24ms; });
  add("observe-interval", "25ms", [](const auto& o) { return o.observe_interval == 25ms; });
}

template <class Options>
void add_tls(KeyRows<Options>& rows) {
  for (const auto& [value, mode] : std::map<std::string, TlsMode>{{"off", TlsMode::off},
                                                                  {"encrypt", TlsMode::encrypt},
                                                                  {"verify-ca", TlsMode::verify_ca},
                                                                  {"verify", TlsMode::verify}}) {
    rows.add("tls", value, [mode = mode](const Options& o) { return o.tls.mode == mode; });
  }
  rows.add("ca-file", "/ca.pem", [](const Options& o) { return o.tls.ca_file == "/ca.pem"; });
  rows.add("certificate-file", "/me.pem",
           [](const Options& o) { return o.tls.certificate_file == "/me.pem"; });
  rows.add("key-file", "/me.key", [](const Options& o) { return o.tls.key_file == "/me.key"; });
}

template <class Options>
void add_sql(KeyRows<Options>& rows) {
  rows.add("poll-interval", "31ms", [](const Options& o) { return o.sql.poll_interval == 31ms; });
  rows.add("pool-size", "32", [](const Options& o) { return o.sql.pool_size == 32; });
  rows.add("connect-timeout", "33ms",
           [](const Options& o) { return o.sql.connect_timeout == 33ms; });
  rows.add("statement-timeout", "34ms",
           [](const Options& o) { return o.sql.statement_timeout == 34ms; });
  for (const auto& [value, schema] : std::map<std::string, sql::Schema>{
           {"create", sql::Schema::create}, {"expect", sql::Schema::expect}}) {
    rows.add("schema", value,
             [schema = schema](const Options& o) { return o.sql.schema == schema; });
  }
  add_contention(rows, [](const Options& o) { return o.sql.contention; });
}

template <class Options>
void add_database(KeyRows<Options>& rows) {
  rows.add("host", "db", [](const Options& o) { return o.host == "db"; });
  rows.add("port", "41", [](const Options& o) { return o.port == 41; });
  rows.add("user", "someone", [](const Options& o) { return o.user == "someone"; });
  rows.add("password", "hunter2",
           [](const Options& o) { return o.password.reveal() == "hunter2"; });
  rows.add("database", "app", [](const Options& o) { return o.database == "app"; });
  add_tls(rows);
  add_sql(rows);
}

std::vector<KeyRow> rows_of_memory() {
  KeyRows<memory::MemoryFactoryOptions> rows;
  add_contention(rows, [](const memory::MemoryFactoryOptions& o) { return o.contention; });
  return rows.take();
}

std::vector<KeyRow> rows_of_sqlite() {
  using sqlite::SqliteOptions;
  KeyRows<SqliteOptions> rows;
  rows.add("path", "/a.db", [](const SqliteOptions& o) { return o.path == "/a.db"; });
  for (const auto& [value, what] : std::map<std::string, sqlite::ChildProcesses>{
           {"ignore", sqlite::ChildProcesses::ignore},
           {"keep-lock", sqlite::ChildProcesses::keep_lock}}) {
    rows.add("child-processes", value,
             [what = what](const SqliteOptions& o) { return o.child_processes == what; });
  }
  for (const auto& [value, what] : std::map<std::string, sqlite::FileMode>{
           {"0600", sqlite::FileMode::owner}, {"0660", sqlite::FileMode::group}}) {
    rows.add("mode", value, [what = what](const SqliteOptions& o) { return o.mode == what; });
  }
  for (const auto& [value, what] : std::map<std::string, sqlite::FileSystem>{
           {"local", sqlite::FileSystem::local}, {"any", sqlite::FileSystem::any}}) {
    rows.add("file-system", value,
             [what = what](const SqliteOptions& o) { return o.file_system == what; });
  }
  add_sql(rows);
  return rows.take();
}

std::vector<KeyRow> rows_of_mysql() {
  KeyRows<mysql::MySqlOptions> rows;
  rows.add("unix-socket", "/my.sock",
           [](const mysql::MySqlOptions& o) { return o.unix_socket == "/my.sock"; });
  add_database(rows);
  return rows.take();
}

std::vector<KeyRow> rows_of_postgresql() {
  using postgresql::PostgreSqlOptions;
  KeyRows<PostgreSqlOptions> rows;
  rows.add("listen", "false",
           [](const PostgreSqlOptions& o) { return o.listen == postgresql::Listen::no; });
  rows.add("listen", "true",
           [](const PostgreSqlOptions& o) { return o.listen == postgresql::Listen::yes; });
  add_database(rows);
  return rows.take();
}

std::vector<KeyRow> rows_of_redis() {
  using redis::Endpoint;
  using redis::RedisOptions;
  using redis::Topology;
  using Endpoints = std::vector<Endpoint>;
  KeyRows<RedisOptions> rows;
  rows.add(
      "topology", "single", [](const RedisOptions& o) { return o.topology == Topology::single; },
      "redis://h");
  rows.add(
      "topology", "sentinel",
      [](const RedisOptions& o) { return o.topology == Topology::sentinel; },
      "redis+sentinel://h/m");
  rows.add(
      "topology", "cluster", [](const RedisOptions& o) { return o.topology == Topology::cluster; },
      "redis+cluster://h");
  rows.add("hosts", "a:51,b", [](const RedisOptions& o) {
    return o.endpoints == Endpoints{{.host = "a", .port = 51}, {.host = "b", .port = 6379}};
  });
  rows.add("port", "52", [](const RedisOptions& o) {
    return o.endpoints == Endpoints{{.host = "127.0.0.1", .port = 52}};
  });
  rows.add("unix-socket", "/redis.sock", [](const RedisOptions& o) {
    return o.endpoints == Endpoints{{.unix_socket = "/redis.sock"}};
  });
  rows.add("user", "someone", [](const RedisOptions& o) { return o.user == "someone"; });
  rows.add("password", "hunter2",
           [](const RedisOptions& o) { return o.password.reveal() == "hunter2"; });
  rows.add("database", "3", [](const RedisOptions& o) { return o.database == 3; });
  rows.add("client-name", "client",
           [](const RedisOptions& o) { return o.client_name == "client"; });
  rows.add("master-name", "master",
           [](const RedisOptions& o) { return o.master_name == "master"; });
  rows.add("sentinel-user", "watcher",
           [](const RedisOptions& o) { return o.sentinel_user == "watcher"; });
  rows.add("sentinel-password", "hunter3",
           [](const RedisOptions& o) { return o.sentinel_password.reveal() == "hunter3"; });
  rows.add("permitted-hosts", "a,b*", [](const RedisOptions& o) {
    return o.permitted_hosts == std::vector<std::string>{"a", "b*"};
  });
  rows.add("wait-replicas", "2", [](const RedisOptions& o) { return o.wait_replicas == 2; });
  rows.add("wait-timeout", "53ms", [](const RedisOptions& o) { return o.wait_timeout == 53ms; });
  rows.add("token-retention", "54h",
           [](const RedisOptions& o) { return o.token_retention == 54h; });
  rows.add("connect-timeout", "55ms",
           [](const RedisOptions& o) { return o.connect_timeout == 55ms; });
  rows.add("command-timeout", "56ms",
           [](const RedisOptions& o) { return o.command_timeout == 56ms; });
  add_tls(rows);
  add_contention(rows, [](const RedisOptions& o) { return o.contention; });
  return rows.take();
}

std::vector<KeyRow> rows_of_zookeeper() {
  using zookeeper::NodeAcl;
  using zookeeper::OnDisconnect;
  using zookeeper::ZooKeeperOptions;
  KeyRows<ZooKeeperOptions> rows;
  rows.add("connect-string", "z1,z2:61/a",
           [](const ZooKeeperOptions& o) { return o.connect_string == "z1:2181,z2:61/a"; });
  rows.add("base-path", "/b", [](const ZooKeeperOptions& o) { return o.base_path == "/b"; });
  rows.add("session-timeout", "62s",
           [](const ZooKeeperOptions& o) { return o.session_timeout == 62s; });
  rows.add("connection-timeout", "63ms",
           [](const ZooKeeperOptions& o) { return o.connection_timeout == 63ms; });
  rows.add("tick-time", "64ms", [](const ZooKeeperOptions& o) { return o.tick_time == 64ms; });
  for (const auto& [value, what] : std::map<std::string, OnDisconnect>{
           {"keep-while-session-lasts", OnDisconnect::keep_while_session_lasts},
           {"step-down", OnDisconnect::step_down}}) {
    rows.add("on-disconnect", value,
             [what = what](const ZooKeeperOptions& o) { return o.on_disconnect == what; });
  }
  rows.add("user", "someone", [](const ZooKeeperOptions& o) { return o.digest_user == "someone"; });
  rows.add("password", "hunter2",
           [](const ZooKeeperOptions& o) { return o.digest_password.reveal() == "hunter2"; });
  for (const auto& [value, what] :
       std::map<std::string, NodeAcl>{{"open", NodeAcl::open},
                                      {"creator", NodeAcl::creator},
                                      {"creator-others-read", NodeAcl::creator_others_read}}) {
    rows.add("acl", value, [what = what](const ZooKeeperOptions& o) { return o.acl == what; });
  }
  add_tls(rows);
  add_contention(rows, [](const ZooKeeperOptions& o) { return o.contention; });
  return rows.take();
}

/// A store that is built, its rows, and a URL to which parameters can be added.
struct KeysOfStore {
  const StoreType* type = nullptr;
  std::vector<KeyRow> rows{};
  std::string url{};

  friend void PrintTo(const KeysOfStore& keys, std::ostream* out) { *out << keys.type->name; }
};

std::vector<KeysOfStore> keys_of_all_stores() {
  const std::map<std::string, std::pair<std::vector<KeyRow> (*)(), std::string>> rows{
      {"memory", {rows_of_memory, "memory:"}},
      {"sqlite", {rows_of_sqlite, "sqlite:"}},
      {"mysql", {rows_of_mysql, "mysql://"}},
      {"postgresql", {rows_of_postgresql, "postgresql://"}},
      {"redis", {rows_of_redis, "redis://"}},
      {"zookeeper", {rows_of_zookeeper, "zookeeper://"}}};
  std::vector<KeysOfStore> all;
  for (const StoreType& type : store_types()) {
    if (!type.built()) continue;
    const auto& [make, url] = rows.at(type.name);
    all.push_back({&type, make(), url});
  }
  return all;
}

class KeysOfStores : public testing::TestWithParam<KeysOfStore> {
 protected:
  using Options = std::unique_ptr<StoreOptions>;

  /// The options where a layer, which may be empty, sets what it has.
  Options options_with(const Layer& layer, const Environment& environment = {}) const {
    StoreSettings settings{*GetParam().type, "test"};
    if (GetParam().type->name == "sqlite") {  // which is nothing without
      settings.add({{.key = "path", .value = "/base.db", .origin = "test"}}, {});
    }
    settings.add(layer, environment);
    return settings.options();
  }

  Options from_url(const std::string& key, const std::string& value,
                   const Environment& environment = {}) const {
    return from_url(fmt::format("{}?{}={}", GetParam().url, key, value), environment);
  }
  Options from_url(const std::string& url, const Environment& environment = {}) const {
    const auto read = read_url(url, {});
    EXPECT_EQ(read.type, GetParam().type);
    return options_with(read.layer, environment);
  }

  Options from_file(const std::string& key, const std::string& value,
                    const Environment& environment = {}) const {
    const std::string& store = GetParam().type->name;
    const auto file =
        read_yaml(fmt::format("simba:\n  {}:\n    {}: {}\n", store, key, value), "simba.yaml");
    return options_with(file.find(store)->keys, environment);
  }

  Options from_environment(const std::string& key, const std::string& value,
                           Environment::Variables variables = {}) const {
    const std::string& store = GetParam().type->name;
    variables[variable_of(store, key)] = value;
    const Environment environment{std::move(variables)};
    return options_with(read_environment(environment).find(store)->keys, environment);
  }

  const Key* find(const std::string& name) const {
    const auto& keys = options_->keys().keys();
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const Key& key) { return key.text.name == name; });
    return found == keys.end() ? nullptr : &*found;
  }

  const Options options_ = GetParam().type->make();
};

TEST_P(KeysOfStores, AreSetByUrlFileAndEnvironment) {
  for (const KeyRow& row : GetParam().rows) {
    SCOPED_TRACE(row.key + "=" + row.value);
    EXPECT_TRUE(row.seen(*(row.url.empty() ? from_url(row.key, row.value) : from_url(row.url))));
    EXPECT_TRUE(row.seen(*from_file(row.key, row.value)));
    EXPECT_TRUE(row.seen(*from_environment(row.key, row.value)));
  }
}

TEST_P(KeysOfStores, ThatAreSecretsAreReadFromTheFileOrTheVariableThatIsNamedToo) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() / "secret";
  for (const KeyRow& row : GetParam().rows) {
    if (find(row.key)->kind != KeyKind::secret) continue;
    SCOPED_TRACE(row.key);
    std::ofstream{path} << row.value << "\n";
    const std::string by_file = row.key + "-file";
    EXPECT_TRUE(row.seen(*from_url(by_file, path)));
    EXPECT_TRUE(row.seen(*from_file(by_file, path)));
    EXPECT_TRUE(row.seen(*from_environment(by_file, path)));
    const std::string by_variable = row.key + "-env";
    const Environment::Variables variables{{"THE_SECRET", row.value}};
    EXPECT_TRUE(row.seen(*from_url(by_variable, "THE_SECRET", Environment{variables})));
    EXPECT_TRUE(row.seen(*from_file(by_variable, "THE_SECRET", Environment{variables})));
    EXPECT_TRUE(row.seen(*from_environment(by_variable, "THE_SECRET", variables)));
  }
}

// Or else a row would say nothing.
TEST_P(KeysOfStores, ChangeNothingThatAnotherRowSees) {
  const auto& rows = GetParam().rows;
  const auto untouched = options_with({});
  std::vector<Options> all;
  for (const KeyRow& row : rows) all.push_back(from_file(row.key, row.value));
  for (const KeyRow& row : rows) {
    const bool is_default = row.seen(*untouched);
    bool tells = !is_default;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].key != row.key) {
        EXPECT_EQ(row.seen(*all[i]), is_default)
            << row.key << "=" << row.value << " is seen after " << rows[i].key;
      } else if (rows[i].value != row.value) {
        EXPECT_FALSE(row.seen(*all[i])) << row.key << "=" << row.value;
        tells = true;
      }
    }
    EXPECT_TRUE(tells) << row.key << "=" << row.value << " is what the key is without it";
  }
}

TEST_P(KeysOfStores, HaveARowEachAndOneForEachWordThatTheyAllow) {
  std::map<std::string, std::set<std::string>> values;
  for (const KeyRow& row : GetParam().rows) {
    EXPECT_TRUE(values[row.key].insert(row.value).second) << row.key << "=" << row.value;
  }
  for (const Key& key : options_->keys().keys()) {
    EXPECT_TRUE(values.contains(key.text.name)) << key.text.name << " has no row";
    std::size_t words = 1;
    if (key.kind == KeyKind::toggle) words = 2;
    if (key.kind == KeyKind::choice) {
      words += static_cast<std::size_t>(std::count(key.allowed.begin(), key.allowed.end(), ','));
    }
    EXPECT_EQ(values[key.text.name].size(), words) << key.text.name << ": " << key.allowed;
  }
  EXPECT_EQ(values.size(), options_->keys().keys().size());
}

INSTANTIATE_TEST_SUITE_P(Stores, KeysOfStores, testing::ValuesIn(keys_of_all_stores()),
                         [](const auto& keys) { return keys.param.type->name; });

}  // namespace
}  // namespace simba::config
