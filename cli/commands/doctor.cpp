// simba doctor: checks the store, and shows what to expect of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/examination.hpp"
#include "cli/output/log.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"

namespace simba::cli {
namespace {

using engine::Finding;
using std::chrono::milliseconds;
using Weight = Finding::Weight;

Colour colour_of(Weight weight) noexcept {
  if (weight == Weight::note) return Colour::cyan;
  return weight == Weight::warning ? Colour::yellow : Colour::red;
}

milliseconds rounded_up(std::chrono::nanoseconds span) {
  return std::chrono::ceil<milliseconds>(span);
}

class Examination {
 public:
  explicit Examination(Output& output) : output_{output}, palette_{output} {}

  void show_configuration(const config::Configuration& configuration, const std::string& named_by) {
    const std::string where = configuration.description();
    Json settings = Json::array();
    Json unused = Json::array();
    line("store", printable(where));
    line("named by", printable(named_by));
    const auto values = configuration.values();
    std::string_view title = "settings";
    for (const auto& value : values) {
      if (!value.replaced_by.empty()) continue;
      line(std::exchange(title, ""), fmt::format("{} = {}, from {}", value.key,
                                                 printable(value.value), printable(value.origin)));
      settings.push_back({{"key", value.key}, {"value", value.value}, {"origin", value.origin}});
    }
    line(title, settings.empty() ? "all defaults" : "all others are defaults");
    title = "ignored";
    for (const auto& value : values) {
      if (value.replaced_by.empty()) continue;
      line(std::exchange(title, ""),
           fmt::format("{} = {}, from {}: overridden by {}", value.key, printable(value.value),
                       printable(value.origin), printable(value.replaced_by)));
      unused.push_back({{"key", value.key},
                        {"value", value.value},
                        {"origin", value.origin},
                        {"replaced_by", value.replaced_by}});
    }
    object({{"event", "configuration"},
            {"store", configuration.store()},
            {"location", where},
            {"named_by", named_by},
            {"settings", settings},
            {"unused", unused}});
    for (const Finding& finding : setting_findings(configuration)) add(finding);
  }

  void show_plan(const ContentionPlan& plan, const WorstCases& worst) {
    line("lease",
         fmt::format("{} ttl + {} transition, renewed {} after the last renewal", to_text(plan.ttl),
                     to_text(plan.transition), to_text(plan.renew_after)));
    show_hand_over(worst);
    line("take-over",
         worst.take_over_when_gone
             ? fmt::format("immediately if the owner's process ends ({} if no notification "
                           "arrives), {} if it hangs",
                           at_most(*worst.take_over_when_gone), at_most(worst.take_over))
             : fmt::format("{} after the owner crashes", at_most(worst.take_over)));
    line("step-down", fmt::format("{} after the last renewal, at least {} before another "
                                  "can own the mutex",
                                  at_most(worst.step_down), to_text(plan.margin)));
    object({{"event", "worst_cases"},
            {"ttl_ms", plan.ttl.count()},
            {"transition_ms", plan.transition.count()},
            {"hand_over_without_notice_ms", rounded_up(worst.hand_over_without_notice).count()},
            {"looks", worst.looks ? Json{{"interval_ms", rounded_up(worst.looks->interval).count()},
                                         {"mutexes", worst.looks->mutexes},
                                         {"per_ms", rounded_up(worst.looks->per).count()}}
                                  : Json(nullptr)},
            {"take_over_ms", rounded_up(worst.take_over).count()},
            {"take_over_when_gone_ms", worst.take_over_when_gone
                                           ? Json(rounded_up(*worst.take_over_when_gone).count())
                                           : Json(nullptr)},
            {"step_down_ms", rounded_up(worst.step_down).count()},
            {"margin_ms", plan.margin.count()},
            {"stop_ms", rounded_up(worst.stop).count()}});
    for (const Finding& finding : plan_findings(plan)) add(finding);
  }

  void show_store(engine::StoreAdmin& admin) {
    const TimedReport timed = examine(admin);
    line("server",
         fmt::format("{}, examined in {}", printable(timed.report.server), to_text(timed.took())));
    object({{"event", "server"},
            {"server", timed.report.server},
            {"examined_in_ms", timed.took().count()}});
    lease_clock_ = timed.lease_clock();
    if (const auto clock = timed.clock()) show_clock(*clock);
    for (const Finding& finding : timed.report.findings) add(finding);
  }

  void show_clock(const ClockOffset& clock) {
    const auto size = std::chrono::abs(clock.offset);
    const std::string_view where = relation_of(clock);
    line("clock", size <= clock.error
                      ? fmt::format("the store's {}, give or take {}", where, to_text(clock.error))
                      : fmt::format("the store's {} by {}, give or take {}", where, to_text(size),
                                    to_text(clock.error)));
    object({{"event", "clock"},
            {"offset_ms", clock.offset.count()},
            {"error_ms", clock.error.count()}});
    for (const Finding& finding : clock_findings(clock)) add(finding);
  }

  void show_host_clock(const config::Configuration& configuration) {
    for (const Finding& finding : host_clock_findings(configuration, lease_clock_)) add(finding);
  }

  void add(const Finding& finding) {
    ++counts_[static_cast<std::size_t>(finding.weight)];
    if (finding.weight == Weight::problem && code_ == ExitCode::success) {
      code_ = exit_code_of(finding.kind);
    }
    const std::string text = printable_lines(finding.text, "  ");
    say(fmt::format(
        "{} {}",
        palette_.paint(colour_of(finding.weight), std::string{name_of(finding.weight)} + ":"),
        text));
    object({{"event", "finding"}, {"weight", name_of(finding.weight)}, {"text", finding.text}});
  }

  int verdict() {
    const auto problems = counts_[static_cast<std::size_t>(Weight::problem)];
    const auto warnings = counts_[static_cast<std::size_t>(Weight::warning)];
    const auto some = [](std::size_t count, std::string_view what) {
      return fmt::format("{} {}{}", count == 0 ? "no" : std::to_string(count), what,
                         count == 1 ? "" : "s");
    };
    const std::string text = some(problems, "problem") + ", " + some(warnings, "warning");
    say(palette_.paint(problems == 0 ? Colour::green : Colour::red, text));
    object({{"event", "verdict"},
            {"problems", problems},
            {"warnings", warnings},
            {"exit_code", to_int(code_)}});
    return to_int(code_);
  }

 private:
  void show_hand_over(const WorstCases& worst) {
    const std::string bound = at_most(worst.hand_over_without_notice);
    if (!worst.looks) {
      line("hand-over", fmt::format("one message; if that is lost, {}", bound));
      return;
    }
    const LookRate& looks = *worst.looks;
    constexpr std::size_t many = 2'000;
    line("hand-over", fmt::format("{}; the store sends no notifications", bound));
    line("", fmt::format("a process polls every {}, at most {} mutexes per {} (every {} if "
                         "it waits for {})",
                         to_text(looks.interval), looks.mutexes, to_text(looks.per),
                         to_text(looks.interval_for(many)), many));
  }

  void line(std::string_view title, std::string_view text) {
    say(palette_.paint(Colour::bold, padded(title, 11)) + std::string{text});
  }
  void say(const std::string& text) {
    if (!output_.json()) output_.result(text, {});
  }
  void object(const Json& object) {
    if (output_.json()) output_.result({}, object);
  }

  Output& output_;
  const Palette palette_;
  std::array<std::size_t, 3> counts_{};  // by weight
  ExitCode code_ = ExitCode::success;
  LeaseClock lease_clock_ = LeaseClock::steady;
};

class DoctorCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("doctor", "Check the store and its configuration");
    command->footer(
        R"(Shows which store is used, where each setting comes from, whether the store is
reachable, its version, privileges and settings, the offset of its clock, how
long hand-over and take-over take in the worst case, and whether a time service
of this host may change the rate of its clock by more than leases allow. The
exit code is 0 if there is no problem, otherwise that of the first one: 69 the
store is not reachable, 77 it denies access, 78 something is misconfigured.

Examples:
  simba doctor
  simba doctor -b postgresql://app@db/app --json)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    const auto configuration = options.load();
    Examination examination{output};
    examination.show_configuration(configuration, options.named_by(config::process_environment()));
    examination.show_plan(configuration.plan(), configuration.worst_cases());
    try {
      examination.show_store(*configuration.make_admin(make_command_runtime(options.verbosity)));
    } catch (const Error& error) {
      examination.add(finding_of(error));
    }
    examination.show_host_clock(configuration);
    return examination.verdict();
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace simba::cli
