#include <csignal>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "support/supervisor/process.hpp"
#include "support/supervisor/product.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

namespace simba::support {

namespace fs = std::filesystem;

namespace {

/// An argument that is no line of the configuration but says which node of an ensemble this is.
constexpr std::string_view number_of_node = "myid=";

/// The configuration, but for what an argument overrules. Followers must answer within two seconds
/// and catch up within five.
std::string lines(const Home& home) {
  const auto ticks = [](std::chrono::milliseconds span) { return span / zookeeper_tick; };
  return fmt::format(
      "tickTime={}\n"
      "minSessionTimeout=200\n"
      "maxSessionTimeout=60000\n"
      "initLimit={}\n"
      "syncLimit={}\n"
      "maxClientCnxns=0\n"
      "4lw.commands.whitelist=*\n"
      "admin.enableServer=false\n"
      "clientPortAddress=127.0.0.1\n"
      "clientPort={}\n"
      "dataDir={}\n",
      zookeeper_tick.count(), ticks(std::chrono::seconds{5}), ticks(std::chrono::seconds{2}),
      home.port, home.data().string());
}

class ZooKeeper : public Product {
 public:
  ZooKeeper() : Product{root_of({"zookeeper"})} {}

  /// Not the Java machine, which is the same for everything.
  fs::path program() const override {
    static_cast<void>(java_program());
    return first_of({"/usr/share/java/zookeeper.jar"}, "libzookeeper-java");
  }

  void make_data(const Home& home, Caller& /*caller*/) const override {
    fs::create_directory(home.data());
    hand_over(home.data());
  }

  void adapt(const Home& home) const override {
    for (const auto& argument : home.arguments) {
      if (argument.starts_with(number_of_node)) {
        const auto file = home.data() / "myid";
        std::ofstream{file} << argument.substr(number_of_node.size()) << '\n';
        hand_over(file);
      }
    }
  }

  std::vector<std::string> command(const Home& home) const override {
    // Now, since the port was not known before.
    const auto configuration = home.folder / "zoo.cfg";
    std::ofstream file{configuration};
    file << lines(home);
    // Without a wait for the disk: only the machine can crash, and then the test does too.
    std::vector<std::string> words{java_program(),
                                   "-Xmx128m",
                                   "-XX:+UseSerialGC",
                                   "-XX:TieredStopAtLevel=1",
                                   "-Xshare:auto",
                                   "-XX:-UsePerfData",  // leaves files in /tmp
                                   "-Djava.io.tmpdir=" + home.folder.string(),
                                   "-Dzookeeper.jmx.log4j.disable=true",
                                   "-Dzookeeper.forceSync=no",
                                   "-Dzookeeper.preAllocSize=1024",
                                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                   "-Dorg.slf4j.simpleLogger.showDateTime=true"};
    for (const auto& argument : home.arguments) {
      if (argument.starts_with('-')) {
        words.push_back(argument);
      } else if (!argument.starts_with(number_of_node)) {
        file << argument << '\n';
      }
    }
    // The archive names what it needs, but for something that writes a log.
    words.insert(words.end(),
                 {"-cp", program().string() + ":/usr/share/java/slf4j-simple.jar",
                  "org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration.string()});
    return words;
  }

  bool answers(const Home& home) const override {
    return zookeeper_mode(home.port) == "standalone";
  }

  int stop_signal() const override { return SIGTERM; }
  int discard_signal() const override { return SIGKILL; }
  fs::path socket(const Home& /*home*/) const override { return {}; }

 private:
  /// The Java machine stays ours.
  fs::path covered() const override { return "/usr/share/java"; }
};

/// It cannot serve before there are others, so it is enough that it runs.
class ZooKeeperNode final : public ZooKeeper {
 public:
  bool answers(const Home& home) const override {
    return four_letter_word(home.port, "ruok") == "imok";
  }
};

}  // namespace

std::unique_ptr<Product> make_zookeeper() { return std::make_unique<ZooKeeper>(); }

std::unique_ptr<Product> make_zookeeper_node() { return std::make_unique<ZooKeeperNode>(); }

}  // namespace simba::support
