#include "soak/options.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "support/patience.hpp"
#include "support/whole_number.hpp"

namespace simba::soak {
namespace {

using std::chrono::milliseconds;

std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t least,
                     std::uint64_t most) {
  const auto value = support::whole_number(text, least, most);
  if (!value) {
    throw std::invalid_argument{
        fmt::format("{} is \"{}\"; allowed: {} to {}", option, text, least, most)};
  }
  return *value;
}

/// How long a killed worker's mutexes are held at the most: their lease, and a little.
milliseconds after_kill(const Options& options) {
  return options.ttl() + options.transition() + support::scaled(std::chrono::seconds{1});
}

bool is_known(const std::string& option) {
  constexpr std::array options{"--store",  "--mutexes", "--processes", "--seconds", "--seed",
                               "--report", "--worker",  "--life",      "--ledger"};
  return std::find(options.begin(), options.end(), option) != options.end();
}

}  // namespace

std::size_t Options::contenders() const noexcept { return std::min<std::size_t>(processes, 4); }

std::size_t Options::core() const noexcept { return std::max<std::size_t>(processes / 4, 1); }

milliseconds Options::ttl() const noexcept {
  return support::scaled(std::chrono::seconds{judges_flatness() ? 10 : 3});
}

milliseconds Options::transition() const noexcept {
  return support::scaled(std::chrono::seconds{judges_flatness() ? 6 : 1});
}

milliseconds Options::kills_end() const noexcept {
  return std::max<milliseconds>(seconds - after_kill(*this), milliseconds{seconds} / 2);
}

milliseconds Options::end() const noexcept { return kills_end() + after_kill(*this); }

milliseconds Options::release_bound() const noexcept {
  return support::scaled(std::chrono::seconds{judges_flatness() ? 2 : 1});
}

double Options::target_rate() const noexcept {
  return std::clamp(static_cast<double>(mutexes) / 6, 20.0, 300.0);
}

milliseconds Options::cycle() const noexcept {
  return milliseconds{static_cast<std::int64_t>(
      1'000 * static_cast<double>(contenders() * mutexes) / target_rate())};
}

milliseconds Options::longest_hold() const noexcept {
  return std::min<milliseconds>(cycle() * 2 / 7, std::chrono::seconds{8});
}

milliseconds Options::first_beginnings() const noexcept {
  return std::min<milliseconds>(cycle(), milliseconds{seconds} / 8);
}

bool Options::judges_flatness() const noexcept { return seconds >= std::chrono::seconds{60}; }

Options parse_options(const std::vector<std::string>& words) {
  constexpr std::uint64_t any = UINT64_MAX;
  Options options;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const std::string& option = words[at];
    if (option == "--help" || option == "-h") {
      options.help = true;
      return options;
    }
    if (!is_known(option)) throw std::invalid_argument{fmt::format("\"{}\" is unknown", option)};
    if (at + 1 == words.size()) {
      throw std::invalid_argument{fmt::format("\"{}\" has no value", option)};
    }
    const std::string& value = words[at + 1];
    if (option == "--store") {
      options.store = value;
    } else if (option == "--mutexes") {
      options.mutexes = number(option, value, 1, 100'000);
    } else if (option == "--processes") {
      options.processes = number(option, value, 3, 200);
    } else if (option == "--seconds") {
      options.seconds =
          std::chrono::seconds{static_cast<std::int64_t>(number(option, value, 5, 1'000'000))};
    } else if (option == "--seed") {
      options.seed = number(option, value, 0, any);
    } else if (option == "--report") {
      options.report = value;
    } else if (option == "--worker") {
      options.worker = number(option, value, 0, 199);
    } else if (option == "--life") {
      options.life = number(option, value, 0, any);
    } else {
      options.ledger = value;
    }
  }
  if (options.store.empty()) throw std::invalid_argument{"--store is missing"};
  return options;
}

std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> words{"--store",     options.store,
                                 "--mutexes",   std::to_string(options.mutexes),
                                 "--processes", std::to_string(options.processes),
                                 "--seconds",   std::to_string(options.seconds.count()),
                                 "--seed",      std::to_string(options.seed)};
  if (options.worker) {
    for (std::string word :
         {std::string{"--worker"}, std::to_string(*options.worker), std::string{"--life"},
          std::to_string(options.life), std::string{"--ledger"}, options.ledger.string()}) {
      words.push_back(std::move(word));
    }
  }
  return words;
}

std::string mutex_name(std::size_t number) { return fmt::format("soak-{}", number); }

}  // namespace simba::soak
