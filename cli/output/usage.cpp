#include "cli/output/usage.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/common_options.hpp"
#include "core/text.hpp"

namespace simba::cli {
namespace {

constexpr std::string_view words_of_cmd = "-- CMD [ARG...]";

/// What comes after the name of a command.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> synopses{{
    {"run", "-m NAME [OPTIONS] -- CMD [ARG...]"},
    {"schedule",
     "-m NAME --every TIME|--cron FIELDS [OPTIONS] -- CMD [ARG...]\n"
     "       simba schedule pause|resume|trigger -m NAME [OPTIONS]"},
    {"elect", "-m NAME [OPTIONS]"},
    {"watch", "[-m NAME] [OPTIONS]"},
    {"status", "[-m NAME] [OPTIONS]"},
    {"runs", "-m NAME [OPTIONS]"},
    {"serve", "[-m NAME] [OPTIONS]"},
    {"release", "-m NAME --force [OPTIONS]"},
    {"init", "[OPTIONS]"},
    {"doctor", "[OPTIONS]"},
    {"demo", "[OPTIONS]"},
}};

std::string_view synopsis_of(std::string_view command) {
  for (const auto& [name, synopsis] : synopses) {
    if (name == command) return synopsis;
  }
  return {};
}

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const std::string_view synopsis =
        app->get_parent() == nullptr ? std::string_view{} : synopsis_of(app->get_name());
    if (synopsis.empty()) return Formatter::make_usage(app, std::move(name));
    return fmt::format("Usage: {} {}\n", name, synopsis);
  }

  /// They come after the options of the command.
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_subcommands(app, mode);
    if (const CLI::App* parent = app->get_parent(); parent != nullptr) {
      const auto common = parent->get_options(
          [](const CLI::Option* option) { return option->get_group() == common_group; });
      if (!common.empty()) text.insert(0, make_group(std::string{common_group}, false, common));
    }
    return text;
  }

  /// Without what a check of the value adds: the name of the type says it already.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    const auto check = type.find(":{");
    return check == std::string::npos ? Formatter::make_option_opts(option)
                                      : " " + type.substr(0, check);
  }
};

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string meant = nearest(word, known);
  return meant.empty() ? std::string{} : fmt::format("; did you mean {}?", meant);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What other programs call our commands.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> other_names{{
    {"help", "--help"},
    {"version", "--version"},
    {"list", "status"},
    {"ls", "status"},
    {"history", "runs"},
    {"lock", "run"},
    {"acquire", "run"},
    {"unlock", "release"},
    {"leader", "elect"},
    {"ui", "serve"},
}};

std::string_view our_name_of(std::string_view word) {
  for (const auto& [other, ours] : other_names) {
    if (other == word) return ours;
  }
  return {};
}

/// `word` is the first that has no meaning; `command` is null where none was found.
std::string message_of_extra(const CLI::App& app, const CLI::App* command,
                             const std::string& word) {
  if (word.starts_with('-')) {
    std::vector<std::string> known = option_names(app);
    if (command != nullptr) {
      for (std::string& name : option_names(*command)) known.push_back(std::move(name));
    }
    return fmt::format("unknown option {}{}", word, did_you_mean(word, known));
  }
  if (command == nullptr) {
    std::vector<std::string> known;
    known.reserve(synopses.size());
    for (const auto& [name, synopsis] : synopses) known.emplace_back(name);
    const std::string_view ours = our_name_of(word);
    return fmt::format(
        "unknown command \"{}\"{}", word,
        ours.empty() ? did_you_mean(word, known) : fmt::format("; did you mean {}?", ours));
  }
  std::string unexpected = fmt::format("unexpected argument \"{}\"", word);
  const std::string_view synopsis = synopsis_of(command->get_name());
  if (word == "help") return unexpected + "; did you mean --help?";
  if (app.get_option("--mutex")->count() == 0 &&
      synopsis.find("-m NAME") != std::string_view::npos) {
    return fmt::format("{}; did you mean -m {}?", unexpected, word);
  }
  if (synopsis.find(words_of_cmd) != std::string_view::npos) {
    return fmt::format("{}; put \"--\" before CMD: simba {} -m NAME -- {}", unexpected,
                       command->get_name(), word);
  }
  return unexpected;
}

/// What the parser says of one option: "--name: what".
std::string message_of_option(const CLI::ParseError& error) {
  std::string text = error.what();
  const auto colon = text.find(": ");
  if (colon == std::string::npos) return text;
  const std::string option = text.substr(0, colon);
  const std::string what = text.substr(colon + 2);
  if (const auto at = what.find(" not in {"); at != std::string::npos && what.ends_with('}')) {
    std::string allowed = what.substr(at + 9, what.size() - at - 10);
    for (auto comma = allowed.find(','); comma != std::string::npos;
         comma = allowed.find(',', comma + 2)) {
      allowed.insert(comma + 1, " ");
    }
    return fmt::format("{} must be one of {} (got \"{}\")", option, allowed, what.substr(0, at));
  }
  if (what.find("At Most 1 ") != std::string::npos) {
    return fmt::format("{} given more than once", option);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return fmt::format("{} needs a value", option);
  }
  return text;
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_help_formatter() {
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(32);
  return formatter;
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const CLI::App* const command = commands.empty() ? nullptr : commands.front();
  const auto extras = app.remaining(true);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  // What is missing may well be what was misspelled.
  if (!extras.empty() && (lacks || is_extra)) {
    return message_of_extra(app, command, extras.front());
  }
  if (lacks && command == nullptr) return "missing command";
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return fmt::format("{}; use only one of them", error.what());
  }
  return message_of_option(error);
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  std::size_t least = std::min<std::size_t>(3, (word.size() - dashes) / 2);
  for (const std::string& candidate : known) {
    const std::size_t distance = detail::edit_distance(word, candidate);
    if (distance > least || (distance == least && !best.empty())) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace simba::cli
