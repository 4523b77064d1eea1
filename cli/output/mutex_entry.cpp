#include "cli/output/mutex_entry.hpp"

#include <algorithm>
#include <chrono>

#include "cli/output/printable.hpp"
#include "cli/output/table.hpp"
#include "cli/output/times.hpp"

namespace simba::cli {
namespace {

bool knows_since(const engine::MutexEntry& entry) {
  return !entry.owner_id.empty() && entry.acquired_at > StoreTime{};
}

std::string left_text(const engine::MutexEntry& entry) {
  if (entry.owner_id.empty()) return "-";
  if (!entry.left) return "session";
  return to_text(std::max(*entry.left, std::chrono::milliseconds::zero()));
}

std::string token_text(FencingToken token) { return token == 0 ? "-" : std::to_string(token); }

}  // namespace

std::string owner_text(const std::string& owner_id) {
  return owner_id.empty() ? "free" : printable(owner_id);
}

Json owner_json(const std::string& owner_id) {
  return owner_id.empty() ? Json(nullptr) : Json(owner_id);
}

Json to_json(const engine::MutexEntry& entry) {
  const bool owned = !entry.owner_id.empty();
  Json object{{"mutex", entry.mutex}, {"owner", owner_json(entry.owner_id)}};
  object["token"] = entry.fencing_token;
  object["since"] = knows_since(entry) ? Json(to_utc(shown(entry.acquired_at))) : Json(nullptr);
  object["left_ms"] = owned && entry.left ? Json(entry.left->count()) : Json(nullptr);
  object["session"] = owned && !entry.left;
  return object;
}

std::string to_table(const std::vector<engine::MutexEntry>& entries, const Palette& palette) {
  Table table{{"MUTEX", "OWNER", "SINCE", "LEFT", "TOKEN"}};
  for (const auto& entry : entries) {
    const bool owned = !entry.owner_id.empty();
    table.add({{printable(entry.mutex), Colour::plain},
               {owner_text(entry.owner_id), owned ? Colour::green : Colour::dim},
               {knows_since(entry) ? to_date_and_time(shown(entry.acquired_at)) : "-"},
               {left_text(entry)},
               {token_text(entry.fencing_token)}});
  }
  return table.text(palette);
}

}  // namespace simba::cli
