// Feeds texts to what `simba doctor` reads of time services: their configurations and command
// lines. An input is, with form feeds between: chrony.conf, a file beside it, the command line of
// chronyd with its words on lines of their own, ntp.conf, and the command line of ntpd.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/host_clock.hpp"
#include "fuzz/support.hpp"
#include "support/temporary_folder.hpp"

namespace simba::cli {
namespace {

using fuzz::check;

/// The files of a host on which both services run.
class Host {
 public:
  Host() {
    for (const char* folder : {"proc/7", "proc/8", "etc/chrony/conf.d"}) {
      std::filesystem::create_directories(root() / folder);
    }
    write("proc/7/comm", "chronyd\n");
    write("proc/8/comm", "ntpd\n");
  }

  const std::filesystem::path& root() const { return folder_.path(); }

  void write(const char* file, std::string_view text) const {
    std::ofstream{root() / file, std::ios::binary} << text;
  }

 private:
  const support::TemporaryFolder folder_;
};

std::string command_line(std::string_view lines) {
  std::string text{lines};
  std::replace(text.begin(), text.end(), '\n', '\0');
  return text;
}

void run(std::string_view input) {
  static const Host host;
  if (input.find("..") != std::string_view::npos) return;  // would leave the host
  std::vector<std::string_view> parts = fuzz::split(input, '\f');
  parts.resize(5);
  host.write("etc/chrony/chrony.conf", parts[0]);
  host.write("etc/chrony/conf.d/more.conf", parts[1]);
  host.write("proc/7/cmdline", command_line(parts[2]));
  host.write("etc/ntp.conf", parts[3]);
  host.write("proc/8/cmdline", command_line(parts[4]));

  const auto services = time_services(host.root());
  check(services.size() == 2, "each service is seen once");
  for (const TimeService& service : services) {
    check(service.slew_ppm >= 0 && service.slew_ppm <= 100'000, "a rate is one of a clock");
    for (const std::string& text : {service.slew_reason, service.slew_cure, service.step_reason}) {
      check(fuzz::prints(text), "a reason prints");
    }
  }
  constexpr std::size_t longest = 1'000;
  for (const LeaseClock clock : {LeaseClock::wall, LeaseClock::steady}) {
    for (const auto& finding : clock_findings(services, std::nullopt, 500, clock)) {
      check(fuzz::prints(finding.text) && finding.text.size() < longest, "a finding is readable");
    }
  }
}

}  // namespace
}  // namespace simba::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::cli::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
