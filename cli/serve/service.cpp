#include "cli/serve/service.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "serve_page.hpp"
#include "simba/core/random.hpp"
#include "simba/version.hpp"

namespace simba::cli::serve {
namespace {

using http::Request;
using http::Response;

/// How often readers hear from us if nothing happens, in seconds.
constexpr int beat_interval = 5;

/// How many changes an answer has, unless it is asked for fewer or more.
constexpr std::size_t usual_changes = 1'000;
constexpr std::size_t most_changes = 100'000;

constexpr std::string_view json_type = "application/json; charset=utf-8";

struct Asset {
  std::string_view path;
  std::string_view type;
  std::string_view text;
};

constexpr std::array<Asset, 4> assets{{
    {"/", "text/html; charset=utf-8", asset::index_html},
    {"/app.js", "text/javascript; charset=utf-8", asset::app_js},
    {"/app.css", "text/css; charset=utf-8", asset::app_css},
    {"/icon.svg", "image/svg+xml", asset::icon_svg},
}};

std::string written(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Response json_response(int status, std::string body) {
  return {.status = status, .content_type = std::string{json_type}, .body = std::move(body)};
}

Response error_response(int status, std::string_view text) {
  return json_response(status, written({{"error", text}}) + "\n");
}

/// What browsers are told with every answer.
void add_policies(Response& response) {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
            "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"},
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Cache-Control", "no-store"}}) {
    response.headers.push_back({.name = name, .value = value});
  }
}

Response method_refusal(std::string_view allowed) {
  Response response =
      error_response(405, fmt::format("this method is not supported here; use {}", allowed));
  response.headers.push_back({.name = "Allow", .value = std::string{allowed}});
  return response;
}

bool reads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

Gate::Seconds seconds_now() { return std::chrono::floor<std::chrono::seconds>(wall_now()); }

/// The object in the body of a request; nothing: it is none.
std::optional<Json> object_in(const Request& request) {
  Json object = Json::parse(request.body, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  return object;
}

std::optional<std::string> text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

bool has_json(const Request& request) {
  const std::string_view type = request.header("Content-Type");
  return type.substr(0, type.find(';')) == "application/json";
}

std::string new_instance() {
  const auto random = make_system_random();
  return fmt::format("{:016x}", random->next());
}

Json moment_json(const std::optional<WallTime>& moment) {
  return moment ? Json(to_utc(*moment)) : Json(nullptr);
}

}  // namespace

Service::Service(Options options)
    : options_{std::move(options)},
      instance_{new_instance()},
      gate_{options_.gate},
      board_{options_.board} {
  health_.store = options_.store;
}

void Service::handle(const Request& request, const http::Responder& respond) {
  Verdict verdict = judge(request);
  if (verdict.response) return respond(std::move(*verdict.response));
  options_.release(verdict.release, [respond](const Released& result) {
    Response response = result.status == 200
                            ? json_response(200, written({{"released", result.text}}) + "\n")
                            : error_response(result.status, result.text);
    add_policies(response);
    respond(std::move(response));
  });
}

Service::Verdict Service::judge(const Request& request) {
  constexpr std::string_view prefix = "/api/mutexes/";
  constexpr std::string_view suffix = "/release";
  const std::string_view path = request.path;
  const std::lock_guard lock{mutex_};
  Verdict verdict;
  if (auto refused = refusal(request, path)) {
    verdict.response = std::move(refused);
  } else if (path.starts_with(prefix) && path.ends_with(suffix) &&
             path.size() > prefix.size() + suffix.size()) {
    verdict = judge_release(
        request, path.substr(prefix.size(), path.size() - prefix.size() - suffix.size()));
  } else {
    verdict.response = path.starts_with("/api/") ? api(request, path) : page(request);
  }
  if (verdict.response) add_policies(*verdict.response);
  return verdict;
}

std::optional<Response> Service::refusal(const Request& request, std::string_view path) const {
  if (!gate_.knows_host(request)) {
    return error_response(
        421, fmt::format("this server is not known as \"{}\"; if that is right, start it with "
                         "--host",
                         detail::excerpt(request.header("Host"))));
  }
  if (!path.starts_with("/api/") || path == "/api/session" || path == "/api/login" ||
      path == "/api/logout" || !gate_.has_token() || gate_.is_logged_in(request, seconds_now())) {
    return std::nullopt;
  }
  Response response = error_response(401, "log in, or send the token as \"Authorization: Bearer\"");
  response.headers.push_back({.name = "WWW-Authenticate", .value = "Bearer"});
  return response;
}

Response Service::page(const Request& request) const {
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [&](const Asset& one) { return one.path == request.path; });
  if (found == assets.end()) return error_response(404, "there is nothing under this path");
  if (!reads(request)) return method_refusal("GET, HEAD");
  return {.content_type = std::string{found->type}, .body = std::string{found->text}};
}

Response Service::api(const Request& request, std::string_view path) {
  constexpr std::string_view of_one = "/api/mutexes/";
  if (path == "/api/login" || path == "/api/logout") {
    if (request.method != "POST") return method_refusal("POST");
    if (!gate_.is_of_our_page(request)) {
      return error_response(403,
                            "only the page itself may log in and out; programs send the token "
                            "as \"Authorization: Bearer\"");
    }
    if (path == "/api/login") return log_in(request);
    Response response = json_response(200, "{}\n");
    response.headers.push_back({.name = "Set-Cookie", .value = gate_.log_out()});
    return response;
  }
  if (!reads(request)) return method_refusal("GET, HEAD");
  if (path == "/api/session") return session(request);
  if (path == "/api/health") return json_response(200, written(health_json()) + "\n");
  if (path == "/api/changes") return changes(request);
  if (path == "/api/events") return events(request);
  if (path == "/api/mutexes") return mutexes();
  if (path.starts_with(of_one)) {
    const auto name = http::percent_decoded(path.substr(of_one.size()));
    if (!name) return error_response(400, "the name of the mutex is not encoded correctly");
    return one_mutex(*name);
  }
  return error_response(404, "the API has no such path");
}

Response Service::mutexes() {
  if (!all_ || all_revision_ != board_.revision()) {
    all_ = std::make_shared<const std::string>(board_.all());
    all_revision_ = board_.revision();
  }
  return json_response(200, document(*all_) + "\n");
}

Response Service::one_mutex(std::string_view name) {
  const auto object = board_.mutex(name);
  if (!object) {
    return error_response(
        404, fmt::format("the store has no mutex \"{}\" at present", detail::excerpt(name)));
  }
  return json_response(200, written(*object) + "\n");
}

Response Service::changes(const Request& request) {
  std::size_t most = usual_changes;
  if (const auto limit = request.parameter("limit")) {
    const auto number = detail::parse_number<std::size_t>(*limit);
    if (!number || *number == 0 || *number > most_changes) {
      return error_response(400, fmt::format("limit must be a whole number from 1 to {} (got "
                                             "\"{}\")",
                                             most_changes, detail::excerpt(*limit)));
    }
    most = *number;
  }
  const auto mutex = request.parameter("mutex");
  Json object = head();
  object["history_from"] = to_utc(board_.history_from());
  object["changes"] = mutex ? board_.changes(most, *mutex) : board_.changes(most);
  return json_response(200, written(object) + "\n");
}

Response Service::session(const Request& request) const {
  const bool in = gate_.is_logged_in(request, seconds_now());
  return json_response(200, written({{"version", version},
                                     {"needs_login", gate_.has_token()},
                                     {"logged_in", in},
                                     {"allows_release", static_cast<bool>(options_.release)}}) +
                                "\n");
}

Response Service::log_in(const Request& request) {
  const auto now = seconds_now();
  const auto object = has_json(request) ? object_in(request) : std::nullopt;
  const auto token = object ? text_in(*object, "token") : std::nullopt;
  if (!token) return error_response(400, R"(send {"token":"..."} as application/json)");
  if (!gate_.has_token()) return error_response(400, "this server needs no login");
  if (gate_.is_closed(now)) {
    Response response = error_response(429, "too many wrong tokens; try again in ten seconds");
    response.headers.push_back({.name = "Retry-After", .value = "10"});
    return response;
  }
  const auto cookie = gate_.log_in(*token, now);
  if (!cookie) return error_response(401, "this is not the token");
  Response response = json_response(200, "{}\n");
  response.headers.push_back({.name = "Set-Cookie", .value = *cookie});
  return response;
}

Service::Verdict Service::judge_release(const Request& request, std::string_view name) const {
  if (request.method != "POST") return {.response = method_refusal("POST")};
  if (!options_.release || !gate_.has_token()) {
    return {.response = error_response(
                403, "this server only shows; to release mutexes start it with --allow-release")};
  }
  if (!gate_.is_of_our_page(request)) {
    return {.response = error_response(403, "another page has asked for this")};
  }
  if (!has_json(request)) {
    return {.response = error_response(415, "send the body as application/json")};
  }
  const auto mutex = http::percent_decoded(name);
  if (!mutex) {
    return {.response = error_response(400, "the name of the mutex is not encoded correctly")};
  }
  const auto object = object_in(request);
  const auto owner = object ? text_in(*object, "owner") : std::nullopt;
  if (!owner || owner->empty()) {
    return {.response = error_response(400,
                                       "send {\"owner\":\"...\"}: the contender id from "
                                       "which the mutex is taken")};
  }
  return {.release = {.mutex = *mutex, .owner = *owner}};
}

// ---- event streams ---------------------------------------------------------------------------

Response Service::events(const Request& request) {
  std::string since{request.parameter("since").value_or("")};
  if (const auto last = request.header("Last-Event-ID"); !last.empty()) since = last;
  std::optional<std::uint64_t> revision;
  if (since.starts_with(instance_ + ".")) {
    revision = detail::parse_number<std::uint64_t>(since.substr(instance_.size() + 1));
  }
  return {.content_type = "text/event-stream",
          .stream = [this, revision](const http::Stream& stream) { open(stream, revision); }};
}

void Service::open(const http::Stream& stream, std::optional<std::uint64_t> since) {
  const std::lock_guard lock{mutex_};
  std::string text = "retry: 1000\n\n";
  Json hello = head();
  hello["allows_release"] = static_cast<bool>(options_.release);
  text += event("hello", written(hello));
  text += event("health", written(health_json()));
  const auto missed = since ? board_.since(*since) : std::nullopt;
  text += missed ? event("news", document(*missed)) : event("reset", "{}");
  if (stream.send(std::move(text))) {
    readers_.push_back({.stream = stream, .revision = board_.revision()});
  }
}

void Service::each_second() {
  const std::lock_guard lock{mutex_};
  if (++seconds_ % beat_interval != 0) return;
  send_to_all(std::make_shared<const std::string>(event("beat", written(head()))));
}

void Service::send_to_all(const Text& text) {
  std::erase_if(readers_, [&](const Reader& reader) { return !reader.stream.send(text); });
}

/// The same text for all that have seen the same.
void Service::publish() {
  const std::uint64_t now = board_.revision();
  std::vector<std::pair<std::uint64_t, Text>> texts;
  std::erase_if(readers_, [&](Reader& reader) {
    if (reader.revision == now) return false;
    auto text = std::find_if(texts.begin(), texts.end(),
                             [&](const auto& one) { return one.first == reader.revision; });
    if (text == texts.end()) {
      texts.emplace_back(reader.revision,
                         std::make_shared<const std::string>(news(reader.revision)));
      text = texts.end() - 1;
    }
    reader.revision = now;
    return !reader.stream.send(text->second);
  });
}

std::string Service::news(std::uint64_t since) const {
  const auto missed = board_.since(since);
  return missed ? event("news", document(*missed)) : event("reset", "{}");
}

void Service::publish_health() {
  std::string text = written(health_json());
  if (text == last_health_) return;
  send_to_all(std::make_shared<const std::string>(event("health", text)));
  last_health_ = std::move(text);
}

// ---- documents -------------------------------------------------------------------------------

Json Service::head() const {
  return {{"instance", instance_}, {"revision", board_.revision()}, {"time", to_utc(wall_now())}};
}

std::string Service::document(std::string_view body) const {
  std::string text = written(head());
  text.back() = ',';
  text.append(body).append("}");
  return text;
}

std::string Service::event(std::string_view name, std::string_view data) const {
  return fmt::format("id: {}.{}\nevent: {}\ndata: {}\n\n", instance_, board_.revision(), name,
                     data);
}

Json Service::health_json() const {
  Json findings = Json::array();
  for (const auto& finding : health_.findings) {
    findings.push_back({{"weight", name_of(finding.weight)}, {"text", finding.text}});
  }
  Json object{{"store", health_.store},
              {"server", health_.server},
              {"reachable", !health_.error && health_.looked},
              {"error", health_.error ? Json(health_.error->what()) : Json(nullptr)},
              {"unreachable_since", moment_json(health_.since)},
              {"looked", moment_json(health_.looked)},
              {"look_ms", health_.look_time.count()},
              {"examined", moment_json(health_.examined)}};
  object["clock"] = health_.clock ? Json{{"offset_ms", health_.clock->offset.count()},
                                         {"error_ms", health_.clock->error.count()}}
                                  : Json(nullptr);
  object["findings"] = std::move(findings);
  return object;
}

// ---- from whoever looks at the store ---------------------------------------------------------

void Service::looked(const Look& look) {
  const std::lock_guard lock{mutex_};
  board_.looked(look);
  const bool was_away = health_.error.has_value() || !health_.looked;
  health_.error.reset();
  health_.since.reset();
  health_.looked = look.answered;
  health_.look_time = look.answered - look.asked;
  publish();
  if (was_away) publish_health();
}

void Service::failed(const Error& error) {
  const std::lock_guard lock{mutex_};
  if (!health_.since) health_.since = wall_now();
  health_.error = error;
  publish_health();
}

void Service::forced(const std::string& mutex, const std::string& owner) {
  const std::lock_guard lock{mutex_};
  board_.forced(mutex, owner);
}

void Service::reported(const std::vector<std::pair<std::string, ScheduleReport>>& reports) {
  const std::lock_guard lock{mutex_};
  for (const auto& [mutex, report] : reports) board_.reported(mutex, report);
  publish();
}

void Service::examined(const Health& found) {
  const std::lock_guard lock{mutex_};
  health_.examined = found.examined;
  health_.server = found.server;
  health_.clock = found.clock;
  health_.findings = found.findings;
  publish_health();
}

Service::Names Service::names_after(std::string_view name, std::size_t most) const {
  const std::lock_guard lock{mutex_};
  return {.schedules = board_.schedules(), .others = board_.names_after(name, most)};
}

}  // namespace simba::cli::serve
