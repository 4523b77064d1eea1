#include "chaos/command_line.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chaos/round_files.hpp"
#include "support/whole_number.hpp"

namespace simba::chaos {

namespace {

std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t low,
                     std::uint64_t high) {
  const auto value = support::whole_number(text, low, high);
  if (!value) {
    throw UsageError{
        fmt::format("{}: '{}' is no whole number from {} to {}", option, text, low, high)};
  }
  return *value;
}

/// The stores of this system, and others.
struct Known {
  const std::vector<std::string>& all;
  const std::vector<std::string>& fetched;

  bool has(const std::string& name) const {
    return std::find(all.begin(), all.end(), name) != all.end() ||
           std::find(fetched.begin(), fetched.end(), name) != fetched.end();
  }

  std::string text() const {
    auto names = all;
    names.insert(names.end(), fetched.begin(), fetched.end());
    return fmt::format("{}", fmt::join(names, ", "));
  }
};

std::vector<std::string> stores(const std::string& text, const Known& known) {
  if (text == "all") {
    return known.all;
  }
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto name = text.substr(begin, end - begin);
    if (!known.has(name)) {
      throw UsageError{
          fmt::format("--store: there is no store '{}'; there are all, {}", name, known.text())};
    }
    if (std::find(result.begin(), result.end(), name) == result.end()) {
      result.push_back(name);
    }
    begin = end + 1;
  }
  return result;
}

bool takes_value(const std::string& option) {
  constexpr std::array options{"--store",      "--seconds", "--seed", "--parallel",
                               "--contenders", "--jvm",     "--out",  "--report"};
  return std::find(options.begin(), options.end(), option) != options.end();
}

/// `option` is one that takes a value.
void set(CommandLine& line, const std::string& option, const std::string& value,
         const Known& known) {
  if (option == "--store") {
    line.stores = stores(value, known);
  } else if (option == "--seconds") {
    line.length = std::chrono::seconds{number(option, value, 1, 86'400)};
  } else if (option == "--seed") {
    line.seed = number(option, value, 0, std::numeric_limits<std::uint32_t>::max());
  } else if (option == "--parallel") {
    line.parallel = static_cast<int>(number(option, value, 1, 16));
  } else if (option == "--contenders") {
    line.contenders =
        static_cast<int>(number(option, value, 2, most_contenders - most_jvm_contenders));
  } else if (option == "--jvm") {
    line.jvm = static_cast<int>(number(option, value, 0, most_jvm_contenders));
  } else if (option == "--out") {
    line.out = value;
  } else {
    line.report = value;
  }
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words,
                               const std::vector<std::string>& all,
                               const std::vector<std::string>& fetched) {
  const Known known{all, fetched};
  CommandLine line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const auto option = words[i].substr(0, equals);
    if (option == "--list" || option == "--help" || option == "-h") {
      line.action = option == "--list" ? CommandLine::Action::list : CommandLine::Action::help;
      continue;
    }
    if (option == "--unsafe" || option == "--resume") {
      (option == "--unsafe" ? line.unsafe : line.resume) = true;
      continue;
    }
    if (!option.starts_with("--")) {
      throw UsageError{fmt::format("'{}' is no option", words[i])};
    }
    if (!takes_value(option)) {
      throw UsageError{fmt::format("unknown option '{}'", option)};
    }
    if (equals == std::string::npos && i + 1 == words.size()) {
      throw UsageError{fmt::format("{} needs a value", option)};
    }
    set(line, option, equals == std::string::npos ? words[++i] : words[i].substr(equals + 1),
        known);
  }
  if (line.resume && line.out.empty()) {
    throw UsageError{"--resume needs --out"};
  }
  if (line.action == CommandLine::Action::run && line.stores.empty()) {
    throw UsageError{fmt::format("--store is missing; there are all, {}", known.text())};
  }
  return line;
}

std::string usage_text() {
  return fmt::format(
      "usage: simba-chaos --store NAME[,NAME...]|all [options]\n"
      "       simba-chaos --list\n"
      "\n"
      "Lets processes contend for mutexes on real servers, does harm to both, and checks what\n"
      "they have written down. Ends everything that it has started.\n"
      "\n"
      "  --store NAME     the store, or several, or all whose servers are packages of this system\n"
      "  --seconds S      how long on each store (20); longer where the basic faults, which come\n"
      "                   first, are not over by then\n"
      "  --seed N         which faults, in which order, and how long (1)\n"
      "  --parallel K     on so many stores at the same time (1)\n"
      "  --contenders C   processes at a time, 2 to {} (5)\n"
      "  --jvm J          and of them that behave like the JVM library, 0 to {}, where that has\n"
      "                   the store (2)\n"
      "  --out FOLDER     keeps records, logs and timeline.html in FOLDER/NAME; without it they\n"
      "                   are kept where a promise was broken\n"
      "  --resume         runs only stores of which FOLDER has no results yet\n"
      "  --report FILE    writes the tables as Markdown\n"
      "  --unsafe         does only what is documented as unsafe, which must be found: sets the\n"
      "                   servers' wall clock forward\n"
      "  --list           names the stores and what is done to them\n"
      "\n"
      "Exit code: 0 all promises kept, 1 one is broken, 2 wrong usage, 77 no such server is\n"
      "installed (and nothing else went wrong), 130 interrupted.\n",
      most_contenders - most_jvm_contenders, most_jvm_contenders);
}

}  // namespace simba::chaos
