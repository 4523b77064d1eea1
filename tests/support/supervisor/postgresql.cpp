#include <charconv>
#include <csignal>
#include <fstream>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "support/supervisor/process.hpp"
#include "support/supervisor/product.hpp"

namespace simba::support {

namespace fs = std::filesystem;

namespace {

class PostgreSql final : public Product {
 public:
  PostgreSql() : Product{root_of({"postgresql"})} {}

  fs::path program() const override { return folder() / "postgres"; }

  void make_data(const Home& home, Caller& caller) const override {
    const auto input = home.folder / "input";
    std::ofstream{input} << test_password << '\n';
    hand_over(input);
    run({{(folder() / "initdb").string(), "--pgdata", home.data().string(), "--username=simba",
          "--auth=scram-sha-256", "--pwfile=" + input.string(), "--encoding=UTF8",
          "--locale=C.UTF-8", "--no-sync", "--no-instructions"},
         home.folder,
         home.log(),
         cover()},
        caller);
    std::ofstream{input} << "CREATE DATABASE simba\n";
    run({{program().string(), "--single", "-D", home.data().string(), "-c", "fsync=off",
          "template1"},
         home.folder,
         home.log(),
         cover(),
         input},
        caller);
    fs::remove(input);
  }

  void adapt(const Home& home) const override {
    std::ofstream{home.data() / "pg_hba.conf"} << "local all all scram-sha-256\n"
                                               << (home.tls ? "hostssl" : "host")
                                               << " all all 127.0.0.1/32 scram-sha-256\n";
  }

  std::vector<std::string> command(const Home& home) const override {
    std::vector<std::string> words{program().string(),          "-D", home.data().string(), "-p",
                                   std::to_string(home.port),   "-k", home.folder.string(), "-c",
                                   "listen_addresses=127.0.0.1"};
    if (home.tls) {
      const auto certificates = home.certificates().string();
      for (const auto& setting :
           {std::string{"ssl=on"}, "ssl_cert_file=" + certificates + "/server.crt",
            "ssl_key_file=" + certificates + "/server.key",
            "ssl_ca_file=" + certificates + "/ca.crt"}) {
        words.insert(words.end(), {"-c", setting});
      }
    }
    words.insert(words.end(), home.arguments.begin(), home.arguments.end());
    return words;
  }

  bool answers(const Home& home) const override {
    // A start-up message of protocol 3.0. Ready: the server asks for a password, or, where it wants
    // TLS, refuses; 57P03 means that it is not ready.
    using namespace std::string_view_literals;
    const auto answer = ask(home.port, "\0\0\0\x23\0\3\0\0user\0simba\0database\0simba\0\0"sv);
    return answer.starts_with('R') ||
           (answer.starts_with('E') && answer.find("57P03") == std::string::npos);
  }

  int stop_signal() const override { return SIGINT; }
  int discard_signal() const override { return SIGQUIT; }

  void clean_up(const Home& home) const override {
    // The seventh line of the lock file names a segment of shared memory: "<key> <id>".
    std::ifstream stream{home.data() / "postmaster.pid"};
    std::string line;
    for (int i = 0; i < 7; ++i) {
      std::getline(stream, line);
    }
    int id = 0;
    const auto start = line.find_last_of(' ') + 1;
    if (stream &&
        std::from_chars(line.data() + start, line.data() + line.size(), id).ec == std::errc{}) {
      ::shmctl(id, IPC_RMID, nullptr);
    }
  }

  fs::path socket(const Home& home) const override { return home.folder; }

 private:
  /// The programs of the newest version that is installed.
  fs::path folder() const {
    const fs::path all{"/usr/lib/postgresql"};
    fs::path newest;
    int newest_version = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator{outside(all), none}) {
      const auto name = entry.path().filename().string();
      int version = 0;
      std::from_chars(name.data(), name.data() + name.size(), version);
      if (version > newest_version && fs::exists(entry.path() / "bin" / "postgres")) {
        newest_version = version;
        newest = all / name / "bin" / "postgres";
      }
    }
    return first_of({newest.empty() ? all : newest}, "postgresql").parent_path();
  }
};

}  // namespace

std::unique_ptr<Product> make_postgresql() { return std::make_unique<PostgreSql>(); }

}  // namespace simba::support
