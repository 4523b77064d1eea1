#include "chaos/checking/timeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "chaos/round_files.hpp"

namespace simba::chaos {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t longest_strip = 30 * second;

// Of the picture, in its own units.
constexpr double width = 1'200;
constexpr double left = 60;
constexpr double right = 10;
constexpr double top = 18;
constexpr double lane_height = 34;
constexpr double bar_height = 9;
constexpr double bar_top = 12;  // in the lane

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{0}</title>
<style>
:root {{
  color-scheme: light dark;
  --back: #ffffff; --text: #1b1f24; --faint: #8a929c; --rule: #e3e6ea;
  --owner0: #2f6fdf; --owner1: #1f9d77; --fault: #e39a1b; --wrong: #d11f2f;
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    --back: #15181c; --text: #e4e7eb; --faint: #8a929c; --rule: #2c3138;
    --owner0: #6aa0ff; --owner1: #43c79c; --fault: #d39a3a; --wrong: #ff5a67;
  }}
}}
body {{ background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif;
  margin: 1.5rem auto; max-width: 1240px; padding: 0 1rem; }}
h1 {{ font-size: 1.25rem; margin: 0 0 .25rem; }}
p {{ margin: .25rem 0 .75rem; }}
svg {{ display: block; width: 100%; height: auto; }}
svg text {{ fill: var(--text); font: 10px system-ui, sans-serif; }}
svg .faint {{ fill: var(--faint); }}
.rule {{ stroke: var(--rule); stroke-width: 1; }}
.owner0 {{ fill: var(--owner0); }}
.owner1 {{ fill: var(--owner1); }}
.fault {{ fill: var(--fault); fill-opacity: .22; stroke: var(--fault); stroke-width: 1; }}
.wrong {{ fill: var(--wrong); }}
.key {{ display: inline-block; width: 1.6em; height: .7em; margin: 0 .35em 0 1em; }}
ol {{ columns: 3 22rem; color: var(--text); font-size: 12px; margin: .25rem 0 1.75rem;
  padding: 0; list-style: none; }}
b {{ font-weight: 600; }}
</style>
</head>
<body>
<h1>{0}</h1>
)";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// A part of the time, drawn as one picture.
class Strip {
 public:
  Strip(const TimelineSettings& settings, std::int64_t begin, std::int64_t end)
      : settings_{settings}, begin_{begin}, end_{end} {
    const auto height = top + lane_height * (settings.lanes + 1) + 4;
    text_ = fmt::format(
        "<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"from {:.0f} s to "
        "{:.0f} s\">\n",
        width, height, seconds(begin - settings.begin), seconds(end - settings.begin));
    draw_axis(height);
    draw_lanes();
  }

  bool shows(std::int64_t begin, std::int64_t end) const { return begin < end_ && end >= begin_; }

  void ownership(const Ownership& one, std::size_t mutex, const std::string& name) {
    const auto y = lane_top(one.lane) + bar_top + static_cast<double>(mutex) * (bar_height + 2);
    box(one.begin, one.end, y, bar_height, fmt::format("owner{}", mutex),
        fmt::format("{}: {}", name, describe(one, settings_.begin)));
  }

  void overlap(const Overlap& one, std::size_t mutex) {
    const auto y =
        lane_top(one.second.lane) + bar_top - 2 + static_cast<double>(mutex) * (bar_height + 2);
    box(one.second.begin, one.second.begin + one.length, y, bar_height + 4, "wrong",
        fmt::format("two owners: {} and {}", describe(one.first, settings_.begin),
                    describe(one.second, settings_.begin)));
  }

  void fault(const FaultSpan& one, std::size_t number) {
    const auto y = lane_top(one.lane) + 1;
    box(one.begin, one.end, y, lane_height - 2, "fault",
        fmt::format("{} {}: {}, {:.2f} s to {:.2f} s", number, one.kind, one.what,
                    seconds(one.begin - settings_.begin), seconds(one.end - settings_.begin)));
    if (one.begin >= begin_) {
      text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(one.begin) + 2, y + 9,
                           number);
    }
  }

  std::string take() { return std::move(text_) + "</svg>\n"; }

 private:
  double x(std::int64_t moment) const {
    const auto part = static_cast<double>(std::clamp(moment, begin_, end_) - begin_) /
                      static_cast<double>(end_ - begin_);
    return left + part * (width - left - right);
  }

  /// The servers' lane is the last.
  double lane_top(int lane) const {
    return top + lane_height * (lane < 0 ? settings_.lanes : lane);
  }

  void box(std::int64_t begin, std::int64_t end, double y, double height, const std::string& kind,
           const std::string& hint) {
    text_ += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
        "rx=\"1.5\"><title>{}</title></rect>\n",
        kind, x(begin), y, std::max(x(end) - x(begin), 1.0), height, escaped(hint));
  }

  void draw_axis(double height) {
    const auto span = end_ - begin_;
    const auto step = span > 12 * second ? 2 * second : second;
    const auto first = (begin_ - settings_.begin + step - 1) / step * step;
    for (auto at = first; settings_.begin + at <= end_; at += step) {
      const auto place = x(settings_.begin + at);
      text_ += fmt::format(
          "<line class=\"rule\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.0f}\"/>"
          "<text class=\"faint\" x=\"{0:.1f}\" y=\"11\" text-anchor=\"middle\">{3} s</text>\n",
          place, top - 3, height, at / second);
    }
  }

  void draw_lanes() {
    for (int lane = 0; lane <= settings_.lanes; ++lane) {
      const auto y = top + lane_height * lane;
      text_ += fmt::format(
          "<line class=\"rule\" x1=\"0\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text x=\"2\" y=\"{:.1f}\">{}</text>\n",
          width, y, y, y + 20,
          lane == settings_.lanes
              ? "servers"
              : Incarnation::lane_name(lane, lane >= settings_.lanes - settings_.jvm));
    }
  }

  const TimelineSettings& settings_;
  const std::int64_t begin_;
  const std::int64_t end_;
  std::string text_;
};

std::string legend(const std::vector<Evidence>& evidence) {
  std::string text =
      "<p>A lane for each contender's process; those of the JVM library, which begin with j, while "
      "the server has granted them the mutex.";
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    text +=
        fmt::format("<span class=\"key\" style=\"background:var(--owner{})\"></span>owner of {}", i,
                    escaped(evidence[i].mutex));
  }
  return text +
         "<span class=\"key\" style=\"background:var(--fault)\"></span>fault, by number"
         "<span class=\"key\" style=\"background:var(--wrong)\"></span>two owners. "
         "Hover for tokens and times.</p>\n";
}

std::string list_of(const std::vector<FaultSpan>& faults, const Strip& strip,
                    const TimelineSettings& settings) {
  std::string text = "<ol>\n";
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const auto& fault = faults[i];
    if (strip.shows(fault.begin, fault.end)) {
      text +=
          fmt::format("<li><b>{}</b> {}{}{}, {:.2f}–{:.2f} s</li>\n", i + 1, escaped(fault.kind),
                      fault.what.empty() ? "" : ": ", escaped(fault.what),
                      seconds(fault.begin - settings.begin), seconds(fault.end - settings.begin));
    }
  }
  return text + "</ol>\n";
}

}  // namespace

std::string timeline_page(const TimelineSettings& settings, const std::vector<Evidence>& evidence,
                          const std::vector<FaultSpan>& faults) {
  auto page = fmt::format(head, escaped("Chaos: " + settings.title)) + legend(evidence);
  std::vector<std::vector<Ownership>> ownerships;
  std::vector<std::vector<Overlap>> overlaps;
  for (const auto& one : evidence) {
    ownerships.push_back(ownerships_of(one.records));
    overlaps.push_back(find_overlaps(ownerships.back()));
  }
  const auto whole = std::max(settings.end - settings.begin, second);
  const auto count = (whole + longest_strip - 1) / longest_strip;
  for (std::int64_t i = 0; i < count; ++i) {
    Strip strip{settings, settings.begin + whole * i / count,
                settings.begin + whole * (i + 1) / count};
    for (std::size_t k = 0; k < faults.size(); ++k) {
      if (strip.shows(faults[k].begin, faults[k].end)) {
        strip.fault(faults[k], k + 1);
      }
    }
    for (std::size_t mutex = 0; mutex < evidence.size(); ++mutex) {
      for (const auto& one : ownerships[mutex]) {
        if (strip.shows(one.begin, one.end)) {
          strip.ownership(one, mutex, evidence[mutex].mutex);
        }
      }
      for (const auto& one : overlaps[mutex]) {
        if (strip.shows(one.second.begin, one.second.begin + one.length)) {
          strip.overlap(one, mutex);
        }
      }
    }
    page += strip.take() + list_of(faults, strip, settings);
  }
  return page + "</body>\n</html>\n";
}

}  // namespace simba::chaos
