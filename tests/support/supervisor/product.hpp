#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/supervisor/caller.hpp"
#include "support/supervisor/process.hpp"

namespace simba::support {

/// Of every test server. It is unlike everything else in a log, so that a leak can be searched for.
inline constexpr std::string_view test_password = "pw-Of-Simba-Tests-4711";

/// Where one server lives and how it is to run.
struct Home {
  std::filesystem::path folder;
  std::uint16_t port = 0;
  bool tls = false;
  std::vector<std::string> arguments{};

  std::filesystem::path data() const { return folder / "data"; }
  std::filesystem::path log() const { return folder / "log"; }
  std::filesystem::path certificates() const { return folder / "certificates"; }
};

/// The root of another Debian release that a server is taken from, as scripts/fetch-server.sh makes
/// it: what SIMBA_TEST_SERVERS of the environment says, if the folder has one of these names. Else
/// empty, which is this system.
std::filesystem::path root_of(std::initializer_list<std::string_view> names);

/// What the supervisor must know of a server product.
class Product {
 public:
  explicit Product(std::filesystem::path root) : root_{std::move(root)} {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  virtual ~Product() = default;

  /// The server's program, as its process finds it. Throws std::runtime_error, with what to do,
  /// where it is not installed.
  virtual std::filesystem::path program() const = 0;

  /// Where this process finds what the server's finds at `path`.
  std::filesystem::path outside(const std::filesystem::path& path) const {
    return root_.empty() ? path : root_ / path.relative_path();
  }

  /// For all programs of the product.
  std::optional<Cover> cover() const;

  /// Makes `home.data()`. The same for all homes, so it may be copied from one to another.
  virtual void make_data(const Home& home, Caller& caller) const = 0;

  /// What is special to this home, once, after the data was made or copied.
  virtual void adapt(const Home& home) const = 0;

  virtual std::vector<std::string> command(const Home& home) const = 0;

  /// True when a client would be let in.
  virtual bool answers(const Home& home) const = 0;

  /// Ends the server in order, without waiting for clients.
  virtual int stop_signal() const = 0;

  /// Ends it at once where its data is not needed any more, but with nothing left behind.
  virtual int discard_signal() const = 0;

  /// Removes what a killed server has left outside its folder.
  virtual void clean_up(const Home& /*home*/) const {}

  /// See `Location::socket`.
  virtual std::filesystem::path socket(const Home& home) const = 0;

 protected:
  /// The first of these that is there, at a path of the server's process. Throws
  /// std::runtime_error, with `package` to install, where none is.
  std::filesystem::path first_of(const std::vector<std::filesystem::path>& paths,
                                 std::string_view package) const;

 private:
  /// What is taken from another root.
  virtual std::filesystem::path covered() const { return "/usr"; }

  const std::filesystem::path root_;
};

std::unique_ptr<Product> make_postgresql();
std::unique_ptr<Product> make_mariadb();
std::unique_ptr<Product> make_mysql();
std::unique_ptr<Product> make_mysql97();
std::unique_ptr<Product> make_redis();
std::unique_ptr<Product> make_redis_cluster_node();
std::unique_ptr<Product> make_redis_sentinel();
std::unique_ptr<Product> make_zookeeper();
std::unique_ptr<Product> make_zookeeper_node();
std::unique_ptr<Product> make_prometheus();

/// By name. Throws std::invalid_argument where there is no such product.
std::unique_ptr<Product> make_product(std::string_view name);

/// Connects to 127.0.0.1, sends `request` and returns the first bytes of the answer; empty where
/// there is none within a second.
std::string ask(std::uint16_t port, std::string_view request);

}  // namespace simba::support
