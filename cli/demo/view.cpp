#include "cli/demo/view.hpp"

#include <algorithm>
#include <chrono>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/output/printable.hpp"

namespace simba::cli::demo {
namespace {

/// What the picture takes; on a smaller terminal it would not stay in its place.
constexpr unsigned least_columns = 72;
constexpr unsigned least_rows = 16;

bool has_room() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= least_columns &&
         size.ws_row >= least_rows;
}

Colour colour_of(Role role) noexcept {
  switch (role) {
    case Role::leader:
      return Colour::green;
    case Role::killed:
      return Colour::red;
    case Role::frozen:
      return Colour::cyan;
    case Role::stopping:
    case Role::stopped:
      return Colour::yellow;
    case Role::follower:
      break;
  }
  return Colour::plain;
}

}  // namespace

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::leader:
      return "LEADER";
    case Role::stopping:
      return "stopping";
    case Role::stopped:
      return "stopped";
    case Role::killed:
      return "killed";
    case Role::frozen:
      return "frozen";
    case Role::follower:
      break;
  }
  return "follower";
}

View::View(Output& output)
    : output_{output}, palette_{output}, draws_{output.live() && has_room()} {}

void View::tell(std::string_view text, const Json& object) {
  const std::chrono::duration<double> at = clock_->now() - begin_;
  const std::string line =
      palette_.paint(Colour::dim, fmt::format("{:7.3f} s", at.count())) + "  " + std::string{text};
  Json timed{{"event", object.value("event", "note")}, {"at_s", at.count()}};
  timed.update(object);
  print(line, timed);
}

void View::show(const std::vector<CandidateState>& candidates) {
  candidates_ = candidates;
  if (!draws_ || picture() == drawn_) return;
  print({}, {});
}

void View::print(const std::string& lines, const Json& object) {
  if (!draws_) {
    output_.result(lines, object);
    return;
  }
  const std::string before = erased();
  drawn_ = picture();
  drawn_lines_ = static_cast<std::size_t>(std::count(drawn_.begin(), drawn_.end(), '\n')) + 1;
  output_.result(before + lines + (lines.empty() ? "" : "\n") + drawn_, {});
}

std::string View::erased() const {
  return drawn_lines_ == 0 ? std::string{} : fmt::format("\033[{}A\033[J", drawn_lines_);
}

std::string View::picture() const {
  std::string text =
      "\n" + palette_.paint(Colour::bold, fmt::format("   {:<10}{:<10}{:<12}{}", "CANDIDATE", "PID",
                                                      "ROLE", "FENCING TOKEN"));
  for (const CandidateState& one : candidates_) {
    const std::string line =
        fmt::format(" {} {:<10}{:<10}{:<12}{}", one.role == Role::leader ? "*" : " ", one.name,
                    one.pid, to_string(one.role), one.token == 0 ? "" : std::to_string(one.token));
    text += "\n" + palette_.paint(colour_of(one.role), line);
  }
  return text;
}

}  // namespace simba::cli::demo
