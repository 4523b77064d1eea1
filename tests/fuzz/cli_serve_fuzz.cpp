// Feeds requests, as they come over the network, to `simba serve`: what is a request is answered by
// the service, which knows a mutex, a token, and may release.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/serve/service.hpp"
#include "fuzz/support.hpp"
#include "http/server.hpp"

namespace simba::cli::serve {
namespace {

using fuzz::check;

Service::Options served() {
  Service::Options options;
  options.gate.token = Secret{"the-token-of-the-tests"};
  options.gate.port = 7462;
  options.store = "redis://10.0.0.5";
  options.release = [](const Service::Release&, const auto&) {};
  return options;
}

void run(std::string_view input) {
  static Service service{served()};
  static bool looked = false;
  if (!looked) {
    looked = true;
    service.looked({.entries = {{.mutex = "m", .owner_id = "ann", .fencing_token = 7}}});
  }
  const auto parsed = http::parse_request(input);
  if (!parsed.request) {
    check(parsed.refused == 0 || (parsed.refused >= 400 && parsed.refused < 600),
          "what is refused is an error");
    return;
  }
  const http::Request& request = *parsed.request;
  const auto verdict = service.judge(request);
  const bool bears_token =
      request.header("Authorization").find("the-token-of-the-tests") != std::string_view::npos;
  if (!verdict.response) {
    check(bears_token, "nobody releases without the token");
    check(!verdict.release.mutex.empty() && !verdict.release.owner.empty(), "a release is whole");
    return;
  }
  const http::Response& response = *verdict.response;
  check(response.status == 200 || (response.status >= 400 && response.status < 500),
        "a request is answered, or it is the client's mistake");
  check(response.body.find("the-token-of-the-tests") == std::string::npos, "the token is not told");
  if (response.stream || !request.path.starts_with("/api/")) return;
  const Json object = Json::parse(response.body, nullptr, false);
  check(object.is_object(), "the API answers objects");
  check(response.status == 200 || object.contains("error"), "an error says what is wrong");
  if (response.status == 200 && object.contains("mutexes")) {
    check(bears_token, "nobody reads without the token");
  }
}

}  // namespace
}  // namespace simba::cli::serve

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::cli::serve::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
