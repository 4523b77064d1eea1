#include <csignal>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "support/supervisor/process.hpp"
#include "support/supervisor/product.hpp"

namespace simba::support {

namespace fs = std::filesystem;

namespace {

/// What MariaDB and MySQL have in common.
class MySqlFamily : public Product {
 public:
  using Product::Product;

  void adapt(const Home& home) const override {
    // Run by the server at each start, before it lets anyone in.
    std::ofstream{home.folder / "init.sql"}
        << "CREATE DATABASE IF NOT EXISTS simba CHARACTER SET utf8mb4;\n"
        << "CREATE USER IF NOT EXISTS 'simba'@'%' IDENTIFIED BY '" << test_password << "';\n"
        << "GRANT ALL PRIVILEGES ON *.* TO 'simba'@'%' WITH GRANT OPTION;\n";
    hand_over(home.folder / "init.sql");
  }

  std::vector<std::string> command(const Home& home) const override {
    auto words = basic_command(home);
    for (const auto& word :
         {fmt::format("--port={}", home.port), std::string{"--bind-address=127.0.0.1"},
          "--socket=" + socket(home).string(),
          "--pid-file=" + (home.folder / "server.pid").string(),
          "--init-file=" + (home.folder / "init.sql").string(), std::string{"--skip-name-resolve"},
          "--tmpdir=" + home.data().string(), std::string{"--innodb-buffer-pool-size=64M"},
          // What is written outlives a killed server all the same, and a slow disk stops no test.
          std::string{"--innodb-flush-method=nosync"}, std::string{"--max-connections=500"}}) {
      words.push_back(word);
    }
    if (home.tls) {
      const auto certificates = home.certificates().string();
      words.insert(words.end(),
                   {"--ssl-cert=" + certificates + "/server.crt",
                    "--ssl-key=" + certificates + "/server.key",
                    "--ssl-ca=" + certificates + "/ca.crt", "--require-secure-transport=ON"});
    }
    words.insert(words.end(), home.arguments.begin(), home.arguments.end());
    return words;
  }

  bool answers(const Home& home) const override {
    // The server speaks first: four bytes of header, then the version of the protocol, 10.
    const auto greeting = ask(home.port, "");
    return greeting.size() > 4 && greeting[4] == 10;
  }

  int stop_signal() const override { return SIGTERM; }
  int discard_signal() const override { return SIGKILL; }
  fs::path socket(const Home& home) const override { return home.folder / "socket"; }

 protected:
  /// The program and what it needs also when it makes the data.
  virtual std::vector<std::string> basic_command(const Home& home) const = 0;
};

class MariaDb final : public MySqlFamily {
 public:
  MariaDb() : MySqlFamily{root_of({"mariadb"})} {}

  fs::path program() const override { return find("mariadbd"); }

  void make_data(const Home& home, Caller& caller) const override {
    run({{find("mariadb-install-db").string(), "--no-defaults", "--datadir=" + home.data().string(),
          "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
          "--innodb-log-file-size=16M", "--innodb-flush-method=nosync"},
         home.folder,
         home.log(),
         cover()},
        caller);
  }

 protected:
  std::vector<std::string> basic_command(const Home& home) const override {
    std::vector<std::string> words{program().string(), "--no-defaults",
                                   "--datadir=" + home.data().string(),
                                   "--innodb-log-file-size=16M"};
    // Since 11.4 it offers TLS with a certificate that it makes itself.
    if (!home.tls) words.emplace_back("--skip-ssl");
    return words;
  }

 private:
  fs::path find(const std::string& name) const {
    return first_of({"/usr/sbin/" + name, "/usr/bin/" + name}, "mariadb-server");
  }
};

/// From npm, so that it has a folder of its own.
class MySql final : public MySqlFamily {
 public:
  MySql() : MySqlFamily{fs::path{}} {}

  fs::path program() const override {
    const fs::path path{SIMBA_TEST_MYSQL "/mysqld"};
    if (!fs::exists(path)) {
      throw std::runtime_error{"there is no " + path.string() + ": run scripts/fetch-mysql.sh"};
    }
    return path;
  }

  void make_data(const Home& home, Caller& caller) const override {
    auto words = basic_command(home);
    words.emplace_back("--initialize-insecure");
    words.emplace_back("--innodb-flush-method=nosync");
    run({words, home.folder, home.log()}, caller);
  }

 protected:
  std::vector<std::string> basic_command(const Home& home) const override {
    return {program().string(),
            "--no-defaults",
            "--datadir=" + home.data().string(),
            "--basedir=" SIMBA_TEST_MYSQL,
            "--lc-messages-dir=" SIMBA_TEST_MYSQL "/share/mysql",
            "--secure-file-priv=NULL",
            "--explicit-defaults-for-timestamp",
            "--innodb-log-file-size=16M"};
  }
};

class MySql97 final : public MySqlFamily {
 public:
  MySql97() : MySqlFamily{fs::path{SIMBA_TEST_MYSQL97}} {}

  fs::path program() const override { return first_of({"/usr/sbin/mysqld"}, "mysql-server-core"); }

  void make_data(const Home& home, Caller& caller) const override {
    auto words = basic_command(home);
    words.emplace_back("--initialize-insecure");
    words.emplace_back("--innodb-flush-method=nosync");
    run({words, home.folder, home.log(), cover()}, caller);
  }

 protected:
  std::vector<std::string> basic_command(const Home& home) const override {
    return {program().string(),        "--no-defaults", "--datadir=" + home.data().string(),
            "--secure-file-priv=NULL", "--mysqlx=OFF",  "--innodb-redo-log-capacity=32M"};
  }
};

}  // namespace

std::unique_ptr<Product> make_mariadb() { return std::make_unique<MariaDb>(); }

std::unique_ptr<Product> make_mysql() { return std::make_unique<MySql>(); }

std::unique_ptr<Product> make_mysql97() { return std::make_unique<MySql97>(); }

}  // namespace simba::support
