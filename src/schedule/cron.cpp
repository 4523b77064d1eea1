#include "simba/schedule/cron.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <cstdint>
#include <exception>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "schedule/time_zone.hpp"
#include "simba/core/error.hpp"

namespace simba {

namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::minutes;
using std::chrono::sys_days;
using std::chrono::weekday;
using std::chrono::year_month_day;

using detail::WallTime;

/// A day or a month of a field, by name: the first three letters.
struct Names {
  std::span<const std::string_view> names{};
  unsigned first = 0;
};

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> day_names{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};

struct FieldKind {
  std::string_view name;
  unsigned least;
  unsigned most;
  Names names{};
};

constexpr std::array<FieldKind, 5> kinds{{{"minute", 0, 59},
                                          {"hour", 0, 23},
                                          {"day of month", 1, 31},
                                          {"month", 1, 12, {month_names, 1}},
                                          {"day of week", 0, 7, {day_names, 0}}}};

/// The Gregorian calendar repeats after this time: what does not occur within it never does.
constexpr auto calendar_cycle = days{146097};

std::string lower(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find_first_of(separators, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> words_of(std::string_view text) {
  auto words = split(text, " \t");
  std::erase(words, std::string{});
  return words;
}

/// Reads one field of an expression.
class FieldReader {
 public:
  FieldReader(const FieldKind& kind, std::string text) : kind_{kind}, text_{std::move(text)} {}

  struct Field {
    std::bitset<64> values{};
    bool any = false;                     ///< it begins with `*`
    bool last_day = false;                ///< L as a day of month
    std::array<std::bitset<6>, 7> nth{};  ///< fri#2: nth[5][2]; friL: nth[5][0]
  };

  Field read() const {
    Field field;
    field.any = text_.starts_with('*');
    for (const std::string& item : split(text_, ",")) add(item, field);
    if (field.values[7] && is_day_of_week()) field.values.set(0);
    return field;
  }

 private:
  bool is_day_of_week() const { return kind_.names.names.data() == day_names.data(); }
  bool is_day_of_month() const { return kind_.most == 31; }

  [[noreturn]] void refuse(std::string_view item, std::string_view reason) const {
    throw InvalidArgumentError{
        fmt::format("invalid {} \"{}\": {}", kind_.name, detail::excerpt(item), reason)};
  }

  void add(const std::string& item, Field& field) const {
    if (item.empty()) refuse(text_, "a value is missing");
    if (is_day_of_month() && item == "l") {
      field.last_day = true;
      return;
    }
    if (is_day_of_week() && add_nth(item, field)) return;
    add_range(item, field);
  }

  /// "fri#2" or "friL".
  bool add_nth(const std::string& item, Field& field) const {
    if (item.size() > 1 && item.ends_with('l')) {
      field.nth[value(item.substr(0, item.size() - 1), item) % 7].set(0);
      return true;
    }
    const auto hash = item.find('#');
    if (hash == std::string::npos) return false;
    const auto which = detail::parse_number<unsigned>(std::string_view{item}.substr(hash + 1));
    if (!which || *which < 1 || *which > 5) {
      refuse(item, "the number after # must be between 1 and 5");
    }
    field.nth[value(item.substr(0, hash), item) % 7].set(*which);
    return true;
  }

  void add_range(const std::string& item, Field& field) const {
    const auto slash = item.find('/');
    const std::string range = item.substr(0, slash);
    unsigned first = kind_.least;
    // * is sun-sat, not sun-sun: a step would count Sunday twice.
    unsigned last = is_day_of_week() ? 6 : kind_.most;
    if (range != "*") {
      const auto dash = range.find('-');
      first = value(range.substr(0, dash), item);
      last = dash == std::string::npos ? first : value(range.substr(dash + 1), item);
      // sat-sun, as in 6-7.
      if (last == 0 && first > 0 && is_day_of_week()) last = 7;
      if (first > last) {
        refuse(item, fmt::format("the range runs backwards; write {}-{},{}-{}", first,
                                 is_day_of_week() ? 6 : kind_.most, kind_.least, last));
      }
      if (slash != std::string::npos && dash == std::string::npos) {
        refuse(item, fmt::format("a step needs a range; write {}-{}{}", first,
                                 is_day_of_week() ? 6 : kind_.most, item.substr(slash)));
      }
    }
    unsigned step = 1;
    if (slash != std::string::npos) {
      const auto given = detail::parse_number<unsigned>(std::string_view{item}.substr(slash + 1));
      if (!given || *given < 1) refuse(item, "the step after / must be a positive number");
      step = std::min(*given, kind_.most + 1);
    }
    for (unsigned v = first; v <= last; v += step) field.values.set(v);
  }

  unsigned value(const std::string& text, const std::string& item) const {
    const auto& names = kind_.names.names;
    if (const auto found = std::ranges::find(names, text); found != names.end()) {
      return kind_.names.first + static_cast<unsigned>(found - names.begin());
    }
    const auto number = detail::parse_number<unsigned>(text);
    if (!number && text == "?") refuse(item, "use * for \"any\"");
    if (!number || *number < kind_.least || *number > kind_.most) {
      refuse(item, fmt::format("must be between {} and {}{}", kind_.least, kind_.most,
                               names.empty() ? std::string{}
                                             : fmt::format(", or a name from {} to {}",
                                                           names.front(), names.back())));
    }
    return *number;
  }

  const FieldKind& kind_;
  const std::string text_;
};

std::string unfolded(const std::string& expression) {
  if (!expression.starts_with('@')) return expression;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nicknames{
      {{"@hourly", "0 * * * *"},
       {"@daily", "0 0 * * *"},
       {"@midnight", "0 0 * * *"},
       {"@weekly", "0 0 * * 0"},
       {"@monthly", "0 0 1 * *"},
       {"@yearly", "0 0 1 1 *"},
       {"@annually", "0 0 1 1 *"}}};
  for (const auto& [name, fields] : nicknames) {
    if (expression == name) return std::string{fields};
  }
  throw InvalidArgumentError{fmt::format(
      "unknown cron expression \"{}\" (known: @hourly, @daily, @midnight, @weekly, @monthly, "
      "@yearly, @annually, or five fields such as \"0 3 * * *\")",
      detail::excerpt(expression))};
}

}  // namespace

struct Cron::Rules {
  using Field = FieldReader::Field;

  Rules(std::string_view expression, std::string_view zone_name)
      : zone{zone_name}, zone_text{zone_name} {
    const auto given = words_of(expression);
    text = fmt::format("{}", fmt::join(given, " "));
    const auto words = words_of(unfolded(lower(text)));
    if (words.size() != kinds.size()) {
      throw InvalidArgumentError{fmt::format(
          "a cron expression has 5 fields: minute, hour, day of month, month and day of week "
          "(got {} in \"{}\"){}",
          words.size(), detail::excerpt(text),
          words.size() == 6 ? "; it has no seconds field" : "")};
    }
    for (std::size_t i = 0; i < kinds.size(); ++i)
      fields[i] = FieldReader{kinds[i], words[i]}.read();
    if (!next_at(WallTime{0s})) {
      throw InvalidArgumentError{
          fmt::format("\"{}\" never occurs: no year has such a day", detail::excerpt(text))};
    }
  }

  const Field& minute() const { return fields[0]; }
  const Field& hour() const { return fields[1]; }
  const Field& day_of_month() const { return fields[2]; }
  const Field& month() const { return fields[3]; }
  const Field& day_of_week() const { return fields[4]; }

  bool follows_elapsed_time() const { return minute().any || hour().any; }

  bool matches_day(const year_month_day& date) const {
    const bool by_month = matches_day_of_month(date);
    const bool by_week = matches_day_of_week(date);
    return day_of_month().any || day_of_week().any ? by_month && by_week : by_month || by_week;
  }

  bool matches_day_of_month(const year_month_day& date) const {
    const unsigned day = static_cast<unsigned>(date.day());
    return day_of_month().values[day] || (day_of_month().last_day && is_last(date, days{1}));
  }

  bool matches_day_of_week(const year_month_day& date) const {
    const unsigned day = weekday{sys_days{date}}.c_encoding();
    const auto& nth = day_of_week().nth[day];
    return day_of_week().values[day] || nth[(static_cast<unsigned>(date.day()) + 6) / 7] ||
           (nth[0] && is_last(date, days{7}));
  }

  /// Whether the month has no further such day: `later` is already in the next month.
  static bool is_last(const year_month_day& date, days later) {
    return year_month_day{sys_days{date} + later}.month() != date.month();
  }

  /// The first matching minute of the wall clock that is not before `from`.
  std::optional<WallTime> next_at(WallTime from) const {
    from = WallTime{std::chrono::ceil<minutes>(from.since_epoch)};
    auto day = sys_days{std::chrono::floor<days>(from.since_epoch)};
    auto of_day = std::chrono::duration_cast<minutes>(from.since_epoch - day.time_since_epoch());
    for (const auto end = day + calendar_cycle; day <= end; of_day = 0min) {
      const year_month_day date{day};
      if (!month().values[static_cast<unsigned>(date.month())]) {
        day = sys_days{date.year() / date.month() / std::chrono::last} + days{1};
        continue;
      }
      if (matches_day(date)) {
        if (const auto found = next_in_day(of_day)) {
          return WallTime{day.time_since_epoch() + *found};
        }
      }
      day += days{1};
    }
    return std::nullopt;
  }

  std::optional<minutes> next_in_day(minutes from) const {
    for (unsigned h = static_cast<unsigned>(from / 1h); h < 24; ++h) {
      if (!hour().values[h]) continue;
      const bool begun = from >= h * 1h;
      for (unsigned m = begun ? static_cast<unsigned>((from - h * 1h) / 1min) : 0; m < 60; ++m) {
        if (minute().values[m]) return h * 1h + m * 1min;
      }
    }
    return std::nullopt;
  }

  detail::TimeZone zone;
  std::string zone_text;
  std::string text{};
  std::array<Field, 5> fields{};
};

Cron::Cron(std::string_view expression, std::string_view zone)
    : rules_{std::make_shared<const Rules>(expression, zone)} {}

std::optional<Cron::Time> Cron::next(Time time) const {
  // Beyond these, dates and zones have no answer.
  constexpr Time earliest = sys_days{std::chrono::year{-9999} / 1 / 1};
  constexpr Time latest = sys_days{std::chrono::year{9999} / 1 / 1};
  if (time >= latest) return std::nullopt;
  time = std::max(time, earliest);
  const Rules& rules = *rules_;
  if (!rules.follows_elapsed_time()) {
    // In order, the times of the wall clock never map to an earlier instant than the one before.
    for (auto wall = rules.next_at(rules.zone.wall_time(time)); wall;
         wall = rules.next_at(WallTime{wall->since_epoch + 1min})) {
      if (const Time found = rules.zone.first_instant(*wall); found > time) return found;
    }
    return std::nullopt;
  }
  for (Time from = time + 1s;;) {
    const auto period = rules.zone.period(from);
    const auto wall = rules.next_at(WallTime{from.time_since_epoch() + period.offset});
    if (!wall) return std::nullopt;
    const Time found{wall->since_epoch - period.offset};
    if (found < period.end) return found;
    from = period.end;
  }
}

std::string Cron::local_text(Time time) const {
  const auto wall = rules_->zone.wall_time(time).since_epoch;
  const auto day = sys_days{std::chrono::floor<days>(wall)};
  const year_month_day date{day};
  const std::chrono::hh_mm_ss of_day{wall - day.time_since_epoch()};
  const std::chrono::hh_mm_ss offset{wall - time.time_since_epoch()};
  return fmt::format(
      "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}:{:02}", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      of_day.hours().count(), of_day.minutes().count(), of_day.seconds().count(),
      offset.is_negative() ? '-' : '+', offset.hours().count(), offset.minutes().count());
}

const std::string& Cron::expression() const noexcept { return rules_->text; }
const std::string& Cron::zone() const noexcept { return rules_->zone_text; }

std::string to_string(const Cron& cron) {
  return fmt::format("{} in {}", cron.expression(), cron.zone());
}

std::ostream& operator<<(std::ostream& out, const Cron& cron) { return out << to_string(cron); }

}  // namespace simba
