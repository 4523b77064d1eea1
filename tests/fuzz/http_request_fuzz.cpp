// Feeds bytes to all that reads a request: from the wire to the answer of a health server.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "http/health_pages.hpp"
#include "http/server.hpp"
#include "simba/core/error.hpp"

namespace simba::http {
namespace {

using fuzz::check;
using fuzz::stays_on_its_line;

/// Low, so that the fuzzer meets them.
const ServerOptions limits{.header_bytes = 512, .body_bytes = 64};

constexpr std::string_view token = "0123456789abcdef";

bool is_known(int status) {
  return status == 200 || status == 401 || status == 403 || status == 404 || status == 405 ||
         status == 503;
}

void check_answer(const Request& request) {
  const auto report = [] { return HealthReport{.mutex = "m", .owner = "\x1b[31m<script>"}; };
  const HealthPages guarded{report, {}, {.token = std::string{token}, .on_loopback = true}};
  const Response answer = guarded.answer(request);
  check(is_known(answer.status), "every request has an answer");
  check(answer.body.empty() || bearer_token(request) == token,
        "nobody sees more than a status without the token");
  const HealthPages open{report, {}, {.on_loopback = true}};
  const Response local = open.answer(request);
  check(is_known(local.status), "every request has an answer on this host, too");
  check(local.body.empty() || names_loopback(request), "a name that leads here sees nothing");
  check(local.body.find('\x1b') == std::string::npos, "what a store says is escaped");
  for (const Header& header : local.headers) {
    check(stays_on_its_line(header.value), "a header is one line");
  }
}

void check_request(const Request& request) {
  check(request.path == "*" || request.path.starts_with('/'), "a path begins with a slash");
  check(stays_on_its_line(request.path) && stays_on_its_line(request.query) &&
            stays_on_its_line(request.method),
        "what is asked is one line");
  check(request.body.size() <= limits.body_bytes, "a body is within its limit");
  std::size_t size = request.method.size() + request.path.size() + request.query.size();
  for (const Header& header : request.headers) size += header.name.size() + header.value.size();
  check(size <= limits.header_bytes, "headers are within their limit");
  if (const auto path = percent_decoded(request.path)) {
    check(path->find('\0') == std::string::npos, "no zero byte comes out of a path");
  }
  static_cast<void>(request.parameter("mutex"));
  static_cast<void>(request.cookie("session"));
  check_answer(request);
}

void run_http_request(std::string_view bytes) {
  const ParsedRequest parsed = parse_request(bytes, limits);
  check(parsed.refused == 0 || parsed.refused == 400 || parsed.refused == 413 ||
            parsed.refused == 431,
        "what is no request is refused");
  check(!parsed.request || parsed.refused == 0, "a request is read or refused");
  if (parsed.request) check_request(*parsed.request);

  static_cast<void>(percent_decoded(bytes));
  check_answer({.method = "GET",
                .path = std::string{bytes},
                .headers = {{"Host", std::string{bytes}}, {"Authorization", std::string{bytes}}}});
  try {
    const ListenAddress address = parse_listen_address(bytes, "--listen");
    check(!address.host.empty(), "an address has a host");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::invalid_argument, "it is a fault of the address");
    check(fuzz::prints(error.what()), "a message prints");
  }
}

}  // namespace
}  // namespace simba::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::http::run_http_request({reinterpret_cast<const char*>(data), size});
  return 0;
}
