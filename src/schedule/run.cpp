#include "simba/schedule/run.hpp"

#include <ostream>

#include <fmt/format.h>

#include "core/text.hpp"
#include "schedule/slot_record.hpp"

namespace simba {

std::string_view to_string(RunOutcome outcome) noexcept {
  switch (outcome) {
    case RunOutcome::running:
      return "running";
    case RunOutcome::succeeded:
      return "succeeded";
    case RunOutcome::failed:
      return "failed";
    case RunOutcome::cancelled:
      return "cancelled";
    case RunOutcome::lost:
      return "lost";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, RunOutcome outcome) {
  return out << to_string(outcome);
}

std::string_view to_string(SlotEvent::Kind kind) noexcept {
  switch (kind) {
    case SlotEvent::Kind::missed:
      return "missed";
    case SlotEvent::Kind::skipped:
      return "skipped";
    case SlotEvent::Kind::failed:
      return "failed";
    case SlotEvent::Kind::lost:
      return "lost";
    case SlotEvent::Kind::definition_changed:
      return "definition_changed";
    case SlotEvent::Kind::stalled:
      return "stalled";
  }
  return "unknown";
}

std::string to_string(const SlotEvent& event) {
  using Kind = SlotEvent::Kind;
  std::string text = fmt::format("schedule [{}]: ", detail::excerpt(event.mutex));
  switch (event.kind) {
    case Kind::missed:
    case Kind::skipped:
      text += fmt::format("{} slot{} {}", event.count, event.count == 1 ? "" : "s",
                          to_string(event.kind));
      if (event.slot) text += fmt::format(", the last {}", detail::time_text(event.slot->time));
      return text;
    case Kind::failed:
    case Kind::lost:
      if (event.slot) {
        text += fmt::format("run {} (slot {}, attempt {}) ", event.slot->number,
                            detail::time_text(event.slot->time), event.slot->attempt);
      }
      text += event.kind == Kind::failed ? "failed" : "was lost";
      text += event.attempts_left > 0 ? "; it will be repeated" : "; it will not be repeated";
      break;
    case Kind::definition_changed:
      text += "its definition differs between processes";
      break;
    case Kind::stalled:
      text += "no slot can begin at the moment";
      break;
  }
  return event.message.empty() ? text : text + ": " + detail::excerpt(event.message, 1000);
}

}  // namespace simba
