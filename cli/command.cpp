#include "cli/command.hpp"

#include <utility>

namespace simba::cli {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  const auto add = [&](std::unique_ptr<Command> command) {
    if (command) commands.push_back(std::move(command));
  };
  add(make_run_command());
  add(make_schedule_command());
  add(make_elect_command());
  add(make_watch_command());
  add(make_status_command());
  add(make_release_command());
  add(make_init_command());
  add(make_doctor_command());
  add(make_demo_command());
  return commands;
}

}  // namespace simba::cli
