#include "http/health_pages.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"
#include "simba/core/metrics_text.hpp"
#include "simba/version.hpp"

namespace simba::http {
namespace {

using namespace std::chrono_literals;

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_token = 4096;
constexpr std::size_t shortest_token = 16;
constexpr std::string_view white_space = " \t\r\n";

bool leads_with_lease(const HealthReport& report) noexcept {
  return report.leads && !report.draining && report.lease_left > 0ns;
}

std::string leader_text(const HealthReport& report) {
  const std::string mutex = detail::printable(report.mutex);
  if (leads_with_lease(report)) {
    return fmt::format("leads: mutex \"{}\", fencing token {}", mutex, report.fencing_token);
  }
  if (report.leads && report.draining) {
    return fmt::format("is about to give up mutex \"{}\"", mutex);
  }
  return report.owner.empty() || report.owner == report.contender_id
             ? fmt::format("does not lead: mutex \"{}\"", mutex)
             : fmt::format("does not lead: mutex \"{}\" is owned by {}", mutex,
                           detail::printable(report.owner));
}

}  // namespace

std::string read_token(const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    throw Error{ErrorKind::configuration,
                fmt::format("cannot use the token file '{}': {}", file, why)};
  };
  errno = 0;
  std::ifstream stream{file, std::ios::binary};
  std::array<char, longest_token + 1> bytes{};
  stream.read(bytes.data(), bytes.size());
  if (!stream.is_open() || stream.bad() || (stream.gcount() == 0 && errno != 0)) {
    refuse(std::generic_category().message(errno != 0 ? errno : EIO));
  }
  std::string token{bytes.data(), static_cast<std::size_t>(stream.gcount())};
  if (token.size() > longest_token) {
    refuse(fmt::format("it is longer than {} bytes", longest_token));
  }
  token.erase(token.find_last_not_of(white_space) + 1);
  token.erase(0, token.find_first_not_of(white_space));
  if (token.size() < shortest_token) {
    refuse(
        fmt::format("the token has {} characters, and must have at least {}; make one with "
                    "\"openssl rand -hex 32\"",
                    token.size(), shortest_token));
  }
  if (token.find_first_of(white_space) != std::string::npos) {
    refuse("a token has no white space in it");
  }
  return token;
}

HealthPages::HealthPages(HealthServer::Report report, HealthServerOptions options,
                         Exposure exposure)
    : report_{std::move(report)}, options_{std::move(options)}, exposure_{std::move(exposure)} {
  if (options_.patience < 1s) {
    throw InvalidArgumentError{
        fmt::format("patience must be at least 1 s (got {} s)", options_.patience.count())};
  }
  if (options_.runtime)
    timer_ = options_.runtime->timers->create([fired = fired_] { *fired = true; });
}

void HealthPages::tick() {
  if (timer_) {
    ticks_without_timer_ = fired_->exchange(false) ? 0 : ticks_without_timer_ + 1;
    timer_->arm(options_.runtime->clock->now());
  }
  const HealthReport report = report_();
  const bool overdue = report.leads && report.lease_left <= 0ns;
  ticks_without_lease_ = overdue ? ticks_without_lease_ + 1 : 0;
}

Response HealthPages::answer(const Request& request) const {
  const bool all = sees_all(request);
  if (request.method != "GET" && request.method != "HEAD" && request.method != "OPTIONS") {
    Response response = status_page(405, "only GET, HEAD and OPTIONS", all);
    response.headers.push_back({"Allow", "GET, HEAD, OPTIONS"});
    return response;
  }
  const auto choose = [&](bool well, std::string_view text) {
    return status_page(well ? 200 : 503, text, all);
  };
  const std::string& path = request.path;
  if (path == "/leader" || path == "/follower") {
    const HealthReport report = report_();
    return choose(leads_with_lease(report) == (path == "/leader"), leader_text(report));
  }
  if (path == "/liveness") {
    const std::string why = why_not_live();
    return choose(why.empty(), why.empty() ? "alive" : why);
  }
  if (path == "/readiness") {
    const bool ready = report_().ready;
    return choose(ready, ready ? "ready" : "not ready");
  }
  const bool has_metrics = path == "/metrics" && options_.runtime != nullptr;
  if (path != "/status" && !has_metrics) {
    return status_page(404, "try /leader, /follower, /liveness, /readiness, /metrics or /status",
                       all);
  }
  if (!all) {
    Response response = status_page(exposure_.token.empty() ? 403 : 401, "", false);
    if (!exposure_.token.empty()) response.headers.push_back({"WWW-Authenticate", "Bearer"});
    return response;
  }
  if (has_metrics) return metrics(request);

  const HealthReport report = report_();
  const std::string why = why_not_live();
  const Json object{
      {"mutex", report.mutex},
      {"contender_id", report.contender_id},
      {"owner", report.owner.empty() ? Json(nullptr) : Json(report.owner)},
      {"leads", leads_with_lease(report)},
      {"draining", report.draining},
      {"ready", report.ready},
      {"live", why.empty()},
      {"fencing_token", report.fencing_token},
      {"lease_left_ms",
       std::chrono::duration_cast<std::chrono::milliseconds>(report.lease_left).count()},
      {"version", simba::version}};
  return {.content_type = "application/json",
          .body = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

Response HealthPages::metrics(const Request& request) const {
  const MetricsFormat format = accepted_format(request.header("Accept"));
  return {.content_type = std::string{content_type(format)},
          .body = metrics_text(statistics_of(*options_.runtime), format),
          .headers = {{"Vary", "Accept"}}};
}

Response HealthPages::status_page(int status, std::string_view text, bool sees_all) const {
  return sees_all ? text_response(status, text) : Response{.status = status};
}

std::string HealthPages::why_not_live() const {
  const auto patience = options_.patience.count();
  if (ticks_without_timer_ >= patience) {
    return fmt::format("no timer has fired for {} s", ticks_without_timer_);
  }
  if (ticks_without_lease_ >= patience) {
    return fmt::format("leadership is claimed although the lease ended {} s ago",
                       ticks_without_lease_);
  }
  return {};
}

bool HealthPages::sees_all(const Request& request) const {
  if (!exposure_.token.empty()) {
    return equal_in_constant_time(bearer_token(request), exposure_.token);
  }
  return exposure_.on_loopback && names_loopback(request);
}

}  // namespace simba::http
