#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace simba {

/// The times of a cron expression in a time zone, in whole minutes.
///
/// Five fields, as in crontab(5): minute (0-59), hour (0-23), day of month (1-31), month (1-12 or
/// jan-dec) and day of week (0-7 or sun-sat; 0 and 7 are Sunday). Each is `*`, a number, a name, a
/// range `a-b`, one of these with a step `/n`, or several of them separated by commas. `L` as the
/// day of month is the last day of the month; `fri#2` as the day of week is the second Friday of
/// the month and `friL` the last. If both day fields are restricted, that is, neither begins with
/// `*`, a day that matches either of them counts. Instead of the fields: `@hourly`, `@daily` or
/// `@midnight`, `@weekly`, `@monthly`, `@yearly` or `@annually`.
///
/// Daylight saving is treated as in Vixie cron: a fixed time that the clocks skip counts once,
/// right after the gap; one that occurs twice counts the first time only. Expressions whose minute
/// or hour begins with `*` follow elapsed time instead: they have no times in the gap, and each of
/// those in a repeated hour twice.
///
/// A value: cheap to copy, safe to use from any thread.
class Cron {
 public:
  using Time = std::chrono::sys_seconds;

  /// Throws InvalidArgumentError, which names the field, if the expression is invalid, matches no
  /// day at all ("0 0 30 2 *"), or the zone is not in the system's time zone database.
  explicit Cron(std::string_view expression, std::string_view zone = "UTC");

  /// The first time after `time`. Empty: there is none that can be represented.
  [[nodiscard]] std::optional<Time> next(Time time) const;

  /// In the zone, with its offset from UTC: "2026-11-20T03:00:00+01:00".
  [[nodiscard]] std::string local_text(Time time) const;

  /// As given, with single spaces.
  [[nodiscard]] const std::string& expression() const noexcept;
  [[nodiscard]] const std::string& zone() const noexcept;

  friend bool operator==(const Cron& a, const Cron& b) noexcept {
    return a.expression() == b.expression() && a.zone() == b.zone();
  }

 private:
  struct Rules;

  std::shared_ptr<const Rules> rules_;
};

/// E.g. "0 3 * * * in Europe/Berlin".
std::string to_string(const Cron& cron);
std::ostream& operator<<(std::ostream& out, const Cron& cron);

}  // namespace simba
