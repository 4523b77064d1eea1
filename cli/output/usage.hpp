#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simba::cli {

/// Help texts: how each command is called, and with its own options those that all have.
std::shared_ptr<CLI::FormatterBase> make_help_formatter();

/// What is wrong with the command line, and what was probably meant. `app` has thrown `error`.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

/// The word that was probably meant; empty where none is near enough.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace simba::cli
