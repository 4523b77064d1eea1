#include <csignal>
#include <fstream>
#include <string>
#include <string_view>

#include "support/supervisor/process.hpp"
#include "support/supervisor/product.hpp"

namespace simba::support {

namespace fs = std::filesystem;

namespace {

/// Each argument is a file of its configuration: "<name>=<contents>".
class Prometheus final : public Product {
 public:
  Prometheus() : Product{{}} {}

  fs::path program() const override {
    return first_of({SIMBA_TEST_PROMETHEUS, "/usr/bin/prometheus"}, "prometheus");
  }

  void make_data(const Home& home, Caller& /*caller*/) const override {
    fs::create_directory(home.data());
    hand_over(home.data());
  }

  void adapt(const Home& home) const override {
    for (const std::string& argument : home.arguments) {
      const auto end = argument.find('=');
      const auto file = home.folder / argument.substr(0, end);
      std::ofstream{file} << argument.substr(end + 1);
      hand_over(file);
    }
  }

  std::vector<std::string> command(const Home& home) const override {
    return {program().string(), "--config.file=" + (home.folder / "prometheus.yml").string(),
            "--storage.tsdb.path=" + home.data().string(),
            "--web.listen-address=127.0.0.1:" + std::to_string(home.port), "--log.level=warn"};
  }

  bool answers(const Home& home) const override {
    return ask(home.port, "GET /-/ready HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200 ");
  }

  int stop_signal() const override { return SIGTERM; }
  int discard_signal() const override { return SIGKILL; }
  fs::path socket(const Home& /*home*/) const override { return {}; }
};

}  // namespace

std::unique_ptr<Product> make_prometheus() { return std::make_unique<Prometheus>(); }

}  // namespace simba::support
