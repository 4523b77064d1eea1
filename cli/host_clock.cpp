#include "cli/host_clock.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <functional>
#include <glob.h>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::cli {
namespace {

namespace fs = std::filesystem;
using engine::Finding;
using Words = std::vector<std::string>;

constexpr std::size_t longest_file = 256UL * 1024;
constexpr std::size_t longest_name = 64;
constexpr std::size_t most_files = 100;
constexpr std::size_t most_processes = 200'000;

/// Of chronyd, where maxslewrate is not set.
constexpr double chrony_default_ppm = 83'333.333;

/// The kernel corrects an eighth of the offset in the first second, since timesyncd gives it the
/// time constant of its shortest poll interval, 32 s; it leaves offsets below 0.4 s to the kernel.
constexpr double timesyncd_ppm = 50'000;

/// Of the kernel's discipline with poll intervals of 64 s and more, and of ntpd's own.
constexpr double ntpd_ppm = 500;

/// The fastest that the kernel lets anyone make a clock.
constexpr double most_slew_ppm = 100'000;

/// The greatest that clock_drift_ppm may be.
constexpr double most_drift_ppm = 100'000;

/// Empty where it cannot be read; what is beyond the bound is left out.
std::string text_of(const fs::path& file, std::size_t longest = longest_file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};  // others may never end, or not even begin
  std::ifstream stream{file, std::ios::binary};
  std::string text(longest, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return text;
}

Words words_in(std::string_view text, std::string_view separators) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

/// A path that a configuration or command line names, below `root`.
fs::path below(const fs::path& root, const fs::path& path) {
  return path.is_absolute() ? root / path.relative_path() : root / path;
}

/// The first of them that is there; the first if none is.
fs::path first_of(const fs::path& root, std::initializer_list<const char*> candidates) {
  std::error_code error;
  for (const char* const candidate : candidates) {
    if (fs::exists(below(root, candidate), error)) return candidate;
  }
  return *candidates.begin();
}

/// The word after `option`; empty if there is none.
std::string value_after(const Words& words, std::string_view option) {
  const auto found = std::find(words.begin(), words.end(), option);
  return found == words.end() || std::next(found) == words.end() ? "" : *std::next(found);
}

/// The lines of a configuration, each as its words, the first in lower case.
void for_each_line(const std::string& text, const std::function<void(const Words&)>& handle) {
  for (const std::string& line : words_in(text, "\r\n")) {
    Words words = words_in(line, " \t");
    if (words.empty() || std::string_view{"#!;%"}.find(words[0][0]) != std::string_view::npos) {
      continue;
    }
    words[0] = lower(words[0]);
    handle(words);
  }
}

std::vector<fs::path> files_like(const std::string& pattern) {
  std::vector<fs::path> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc && i < most_files; ++i) {
      files.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  return files;
}

/// What chrony's configuration says of slewing and stepping: the last of each counts.
class ChronyConfiguration {
 public:
  explicit ChronyConfiguration(const fs::path& root) : root_{root} {}

  void read(const fs::path& file) {
    if (++files_ > most_files) return;
    for_each_line(text_of(file), [&](const Words& words) { take(words); });
  }

  std::optional<double> max_slew_rate;
  std::string always_steps;  ///< the makestep that has no limit

 private:
  void take(const Words& words) {
    const std::string& name = words[0];
    if (name == "maxslewrate" && words.size() > 1) {
      const auto rate = number_in(words[1]);
      max_slew_rate = rate && *rate >= 0 ? rate : std::nullopt;
    } else if (name == "makestep" && words.size() > 2) {
      const auto limit = number_in(words[2]);
      always_steps = limit && *limit < 0 ? words[0] + ' ' + words[1] + ' ' + words[2] : "";
    } else if (name == "include" && words.size() > 1) {
      read_all(below(root_, words[1]));
    } else if (name == "confdir") {
      for (std::size_t i = 1; i < words.size(); ++i) read_all(below(root_, words[i]) / "*.conf");
    }
  }

  void read_all(const fs::path& pattern) {
    if (++patterns_ > most_files) return;
    for (const auto& file : files_like(pattern)) read(file);
  }

  const fs::path root_;
  std::size_t files_ = 0;
  std::size_t patterns_ = 0;
};

TimeService chrony(const fs::path& root, const Words& command) {
  fs::path file = value_after(command, "-f");
  if (file.empty()) file = first_of(root, {"/etc/chrony/chrony.conf", "/etc/chrony.conf"});
  ChronyConfiguration configuration{root};
  configuration.read(below(root, file));
  TimeService service{.name = "chrony", .slew_cure = "set maxslewrate 200 in its configuration"};
  service.slew_ppm =
      std::min(configuration.max_slew_rate.value_or(chrony_default_ppm), most_slew_ppm);
  service.slew_reason =
      configuration.max_slew_rate
          ? fmt::format("maxslewrate {}", *configuration.max_slew_rate)
          : fmt::format("maxslewrate is not set in {}", detail::excerpt(file.string()));
  service.step_reason = detail::excerpt(configuration.always_steps);
  return service;
}

TimeService ntpd(const fs::path& root, const Words& command) {
  fs::path file = value_after(command, "-c");
  if (file.empty()) file = first_of(root, {"/etc/ntpsec/ntp.conf", "/etc/ntp.conf"});
  bool steps = std::find(command.begin(), command.end(), "-x") == command.end();
  for_each_line(text_of(below(root, file)), [&](const Words& words) {
    if (words[0] != "tinker") return;
    if (const auto threshold = number_in(value_after(words, "step"))) steps = *threshold > 0;
  });
  return {.name = "ntpd",
          .slew_ppm = ntpd_ppm,
          .slew_reason = "the rate of adjtime",
          .slew_cure = "",
          .step_reason = steps ? "offsets above 128 ms; tinker step 0 prevents that" : ""};
}

TimeService timesyncd() {
  return {.name = "systemd-timesyncd",
          .slew_ppm = timesyncd_ppm,
          .slew_reason = "an eighth of the offset per second",
          .slew_cure = "use chrony with maxslewrate 200 instead",
          .step_reason = "offsets above 400 ms; that cannot be prevented"};
}

/// How far clocks may differ in rate if one host slews this fast in one direction and the other
/// in the other direction, as clock_drift_ppm counts it.
double needed_allowance(double slew_ppm) { return 2 * slew_ppm / (1 + slew_ppm / 1e6); }

Finding slew_finding(const TimeService& service, int clock_drift_ppm) {
  const double needed = std::ceil(needed_allowance(service.slew_ppm));
  std::string cure = service.slew_cure;
  if (needed <= most_drift_ppm) {
    cure += fmt::format("{}set clock-drift-ppm to {:.0f}", cure.empty() ? "" : ", or ", needed);
  }
  return {.weight = Finding::Weight::warning,
          .text = fmt::format(
              "{} may slew this host's clock at {:.0f} ppm ({}): if the store's host slews its own "
              "the other way, their rates differ by more than clock-drift-ppm, {}, allows, and a "
              "mutex may have two owners; {}",
              service.name, service.slew_ppm, service.slew_reason, clock_drift_ppm, cure)};
}

}  // namespace

std::vector<TimeService> time_services(const fs::path& root) {
  std::vector<TimeService> services;
  const auto add = [&](TimeService service) {
    const auto same = [&](const TimeService& other) { return other.name == service.name; };
    if (std::none_of(services.begin(), services.end(), same)) services.push_back(service);
  };
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator process{root / "proc", error}, end; !error && process != end;
       process.increment(error)) {
    const std::string name = process->path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    if (++seen > most_processes) break;
    const std::string program = text_of(process->path() / "comm", longest_name);
    const auto command = [&] {
      return words_in(text_of(process->path() / "cmdline"), std::string_view{"\0", 1});
    };
    if (program == "chronyd\n") add(chrony(root, command()));
    if (program == "ntpd\n") add(ntpd(root, command()));
    if (program == "systemd-timesyn\n") add(timesyncd());  // the kernel shows 15 characters
  }
  return services;
}

double clock_ppm(const timex& kernel) noexcept {
  constexpr double freq_unit = 65'536;     // parts of a ppm
  constexpr double nominal_tick = 10'000;  // microseconds, of 100 a second
  constexpr double ppm_per_tick = 100;
  double ppm = static_cast<double>(kernel.freq) / freq_unit +
               (static_cast<double>(kernel.tick) - nominal_tick) * ppm_per_tick;
  if ((kernel.status & STA_PLL) != 0) {
    const double unit = (kernel.status & STA_NANO) != 0 ? 1e-9 : 1e-6;
    const auto time_constant = static_cast<int>(std::clamp<long>(kernel.constant, 0, 10));
    ppm += static_cast<double>(kernel.offset) * unit * 1e6 / std::pow(2, 2 + time_constant);
  }
  return ppm;
}

std::optional<double> kernel_clock_ppm() {
  timex kernel{};
  if (::adjtimex(&kernel) == -1) return std::nullopt;
  return clock_ppm(kernel);
}

std::vector<Finding> clock_findings(const std::vector<TimeService>& services,
                                    std::optional<double> kernel_ppm, int clock_drift_ppm,
                                    LeaseClock clock) {
  std::vector<Finding> findings;
  for (const TimeService& service : services) {
    if (needed_allowance(service.slew_ppm) > clock_drift_ppm) {
      findings.push_back(slew_finding(service, clock_drift_ppm));
    }
    if (!service.step_reason.empty() && clock == LeaseClock::wall) {
      findings.push_back(
          {.weight = Finding::Weight::note,
           .text = fmt::format("{} steps this host's clock ({}): do not run the store on a host "
                               "like this, since a step forward by more than the margin lets "
                               "another contender in early",
                               service.name, service.step_reason)});
    }
  }
  if (kernel_ppm && std::abs(*kernel_ppm) > clock_drift_ppm) {
    findings.push_back({.weight = Finding::Weight::warning,
                        .text = fmt::format(
                            "this host's clock is being slewed: at present its rate is adjusted by "
                            "{:+.0f} ppm, more than clock-drift-ppm, {}, allows; see which time "
                            "service does that, and limit it",
                            *kernel_ppm, clock_drift_ppm)});
  }
  return findings;
}

}  // namespace simba::cli
