#include <csignal>
#include <exception>
#include <fstream>

#include <fmt/format.h>

#include "redis/admin/required_acl.hpp"
#include "support/redis/redis_console.hpp"
#include "support/redis/redis_servers.hpp"
#include "support/supervisor/process.hpp"
#include "support/supervisor/product.hpp"

namespace simba::support {

namespace fs = std::filesystem;

namespace {

/// What the user of a Simba factory may do on a sentinel.
constexpr std::string_view simba_rights_on_sentinel =
    "-@all +sentinel|get-master-addr-by-name +client|setname +ping +subscribe &+switch-master";

/// The default user cannot log in but keeps its rights: without them a server that starts does not
/// carry out what scripts have written to its AOF.
std::string users(std::string_view rights) {
  return fmt::format(
      "user default off ~* &* +@all\n"
      "user simba reset on >{0} {1}\n"
      "user admin reset on >{0} ~* &* +@all\n",
      test_password, rights);
}

/// What all programs of Redis have in common. What changes by itself, such as who replicates whom,
/// they write into their configuration; what must not change is on the command line.
class RedisFamily : public Product {
 public:
  RedisFamily() : Product{root_of({"redis", "valkey"})} {}

  void make_data(const Home& home, Caller& /*caller*/) const override {
    fs::create_directory(home.data());
    hand_over(home.data());
  }

  void adapt(const Home& home) const override {
    std::ofstream{configuration(home)} << contents();
    hand_over(configuration(home));
  }

  std::vector<std::string> command(const Home& home) const override {
    const auto port = std::to_string(home.port);
    std::vector<std::string> words{program().string(),
                                   configuration(home).string(),
                                   "--bind",
                                   "127.0.0.1",
                                   "--dir",
                                   home.data().string(),
                                   "--unixsocket",
                                   socket(home).string(),
                                   "--port",
                                   home.tls ? "0" : port};
    if (home.tls) {
      const auto certificates = home.certificates().string();
      words.insert(words.end(),
                   {"--tls-port", port, "--tls-cert-file", certificates + "/server.crt",
                    "--tls-key-file", certificates + "/server.key", "--tls-ca-cert-file",
                    certificates + "/ca.crt", "--tls-auth-clients", "optional"});
    }
    add_own(home, words);
    words.insert(words.end(), home.arguments.begin(), home.arguments.end());
    return words;
  }

  bool answers(const Home& home) const override {
    try {
      RedisConsole console{socket(home).string(), std::string{test_password}};
      return console.value({"PING"}) == "PONG";
    } catch (const std::exception&) {  // not there yet, or still reading its data
      return false;
    }
  }

  int stop_signal() const override { return SIGTERM; }
  int discard_signal() const override { return SIGKILL; }
  fs::path socket(const Home& home) const override { return home.folder / "socket"; }

 protected:
  /// Of the configuration file at first.
  virtual std::string contents() const = 0;

  /// Further words of the command line.
  virtual void add_own(const Home& home, std::vector<std::string>& words) const = 0;

  /// `program` of Redis or, in a root that has Valkey instead, of that.
  fs::path find(const std::string& program) const {
    return first_of({"/usr/bin/redis-" + program, "/usr/bin/valkey-" + program},
                    "redis-" + program);
  }

 private:
  static fs::path configuration(const Home& home) { return home.folder / "configuration"; }
};

class Redis : public RedisFamily {
 public:
  fs::path program() const override { return find("server"); }

 protected:
  std::string contents() const override {
    return users(redis::required_acl) +
           fmt::format("masteruser admin\nmasterauth {}\n", test_password);
  }

  void add_own(const Home& /*home*/, std::vector<std::string>& words) const override {
    words.insert(words.end(), {"--save", "", "--enable-debug-command", "local",
                               "--repl-diskless-sync-delay", "0", "--shutdown-timeout", "1"});
  }
};

class RedisClusterNode final : public Redis {
 protected:
  void add_own(const Home& home, std::vector<std::string>& words) const override {
    Redis::add_own(home, words);
    words.insert(words.end(),
                 {"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                  "--cluster-node-timeout", "2000", "--cluster-announce-ip", "127.0.0.1",
                  "--cluster-port", std::to_string(cluster_bus_port(home.port))});
  }
};

class RedisSentinel final : public RedisFamily {
 public:
  fs::path program() const override { return find("sentinel"); }

 protected:
  std::string contents() const override {
    return users(simba_rights_on_sentinel) +
           fmt::format("sentinel sentinel-user admin\nsentinel sentinel-pass {}\n", test_password);
  }

  void add_own(const Home& /*home*/, std::vector<std::string>& /*words*/) const override {}
};

}  // namespace

std::unique_ptr<Product> make_redis() { return std::make_unique<Redis>(); }

std::unique_ptr<Product> make_redis_cluster_node() { return std::make_unique<RedisClusterNode>(); }

std::unique_ptr<Product> make_redis_sentinel() { return std::make_unique<RedisSentinel>(); }

}  // namespace simba::support
