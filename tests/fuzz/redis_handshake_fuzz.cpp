// Feeds replies to the log-in. The first byte chooses what is said to the server: each of its bits
// is a setting. The rest is what comes over the wire.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "redis/connection/handshake.hpp"
#include "redis/protocol/resp_reader.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using fuzz::check;

constexpr std::string_view handshake_secret = "hunter2";

ConnectionSettings settings_of(unsigned bits) {
  ConnectionSettings settings;
  if ((bits & 1U) != 0) settings.password = Secret{std::string{handshake_secret}};
  if ((bits & 2U) != 0) settings.user = "app";
  if ((bits & 4U) != 0) settings.database = 3;
  if ((bits & 8U) != 0) settings.client_name = "simba";
  settings.masters_only = (bits & 16U) != 0;
  return settings;
}

void check_error(const Error& error) {
  const std::string_view text = error.what();
  check(fuzz::prints(text) && text.size() <= detail::longest_excerpt * 2 + 600,
        "an error can be logged");
  check(text.find(handshake_secret) == std::string_view::npos, "a password is never shown");
}

void run_redis_handshake(std::string_view bytes) {
  const ConnectionSettings settings =
      settings_of(bytes.empty() ? 0U : static_cast<unsigned char>(bytes.front()));
  if (!bytes.empty()) bytes.remove_prefix(1);
  // Where no password was sent, nothing that it says is one.
  if (settings.password.empty() && bytes.find(handshake_secret) != std::string_view::npos) return;
  Handshake handshake{settings, "Redis at 127.0.0.1:6379"};
  const std::string commands = handshake.commands();
  RespReader said;
  said.feed(commands);
  std::size_t steps = 0;
  while (said.next()) ++steps;
  check(steps > 0, "something is asked");

  RespReader reader{RespLimits{.bytes = 4'096, .elements = 64}};
  reader.feed(bytes);
  std::size_t taken = 0;
  try {
    while (!handshake.done()) {
      const auto reply = reader.next();
      if (!reply) break;
      handshake.take(*reply);
      ++taken;
    }
    check(handshake.done() == (taken == steps), "it is done when everything is answered");
  } catch (const Error& error) {
    check_error(error);
  }
}

}  // namespace
}  // namespace simba::redis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::redis::run_redis_handshake({reinterpret_cast<const char*>(data), size});
  return 0;
}
