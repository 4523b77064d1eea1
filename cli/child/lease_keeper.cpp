#include "cli/child/lease_keeper.hpp"

#include <algorithm>
#include <cstdlib>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli {

using std::chrono::milliseconds;

namespace {

// Two fifths of it are left after KILL: enough for the guardian to wake up, to look twice, 10 ms
// apart, for processes of CMD in other groups, and for the kernel to end them.
constexpr milliseconds least_margin{50};

constexpr const char* held_variable = "SIMBA_HELD";

/// Entries with a space between.
std::string held_around_us() {
  const char* value = std::getenv(held_variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value != nullptr ? value : "";
}

std::string held_entry(const std::string& mutex, const std::string& contender_id) {
  constexpr std::string_view plain = "/-._~";
  return detail::percent_encoded(mutex, plain) + '=' + detail::percent_encoded(contender_id, plain);
}

}  // namespace

milliseconds kill_after(const ContentionPlan& plan) noexcept {
  return std::max(plan.margin * 6 / 10, milliseconds{1});
}

std::optional<std::string> margin_problem(const ContentionPlan& plan) {
  if (plan.margin >= least_margin) return std::nullopt;
  return fmt::format(
      "margin must be at least {} ms (got {} ms), so that CMD can be terminated before anyone else "
      "can own the mutex; raise it, or omit it and make ttl + transition at least {} ms",
      least_margin.count(), plan.margin.count(), 20 * least_margin.count());
}

std::vector<std::pair<std::string, std::string>> variables_of(const MutexContendService& service) {
  const std::string& mutex = service.contender().mutex();
  std::string held = held_around_us();
  if (!held.empty()) held += ' ';
  return {{"SIMBA_MUTEX", mutex},
          {"SIMBA_CONTENDER_ID", service.contender_id()},
          {"SIMBA_FENCING_TOKEN", std::to_string(service.fencing_token())},
          {held_variable, held + held_entry(mutex, service.contender_id())}};
}

std::optional<std::string> deadlock_with(const std::string& mutex, const std::string& owner_id) {
  const std::string entry = ' ' + held_entry(mutex, owner_id) + ' ';
  if (owner_id.empty() || (' ' + held_around_us() + ' ').find(entry) == std::string::npos) {
    return std::nullopt;
  }
  return fmt::format(
      "deadlock: mutex \"{}\" is held by {}, the simba that this one runs inside (see {}); use "
      "another mutex, or remove the inner simba",
      printable(mutex), printable(owner_id), held_variable);
}

LocalTime LeaseKeeper::lease_end() { return known_ = std::max(known_, service_.lease_until()); }

milliseconds until_next_look(LocalTime lease_end) {
  const auto left = std::chrono::ceil<milliseconds>(lease_end - make_system_clock()->now());
  return std::clamp(left / 2, milliseconds{1}, milliseconds{60'000});
}

void Withheld::keep(MutexContendService& service, std::string_view reason, Output& output) {
  const LocalTime end = service.lease_until();
  const auto left = service.lease_left();
  service.let_lease_run_out();
  until_ = std::max(end, make_system_clock()->now()) + margin_;
  const std::string mutex = printable(service.contender().mutex());
  output.note(left.count() > 0
                  ? fmt::format("mutex \"{}\" not released: {}; its lease expires in {}", mutex,
                                reason, to_text(left))
                  : fmt::format("mutex \"{}\" lost: {}", mutex, reason),
              {{"event", "not_released"},
               {"mutex", service.contender().mutex()},
               {"contender_id", service.contender_id()},
               {"fencing_token", service.fencing_token()},
               {"reason", reason},
               {"lease_left_ms", std::chrono::duration_cast<milliseconds>(left).count()}});
}

void Withheld::wait() const {
  while (make_system_clock()->now() < until_.load()) {
    ::poll(nullptr, 0, static_cast<int>(until_next_look(until_).count()));
  }
}

void Withheld::abandon(MutexContendService& service, std::string_view reason, Output& output) {
  keep(service, reason, output);
  wait();
  output.finish();
  ::_exit(to_int(ExitCode::not_released));
}

}  // namespace simba::cli
