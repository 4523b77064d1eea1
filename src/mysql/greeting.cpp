#include "mysql/greeting.hpp"

#include <cstddef>

namespace simba::mysql {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t index) noexcept {
  return static_cast<unsigned char>(bytes[index]);
}

}  // namespace

// Three bytes of length and a number, then: the protocol, the version as text that ends with NUL,
// four bytes of a number, nine of a scramble and its end, and the lower half of the capabilities.
Greeting read_greeting(std::string_view bytes) noexcept {
  constexpr std::size_t header = 4;
  constexpr std::size_t from_version_to_capabilities = 4 + 9;
  constexpr std::size_t longest_version = 200;
  constexpr unsigned protocol = 10;
  constexpr unsigned error = 0xFF;
  constexpr unsigned tls_in_second_byte = 0x08;

  if (bytes.size() <= header) return Greeting::incomplete;
  const std::size_t length = byte_at(bytes, 0) | byte_at(bytes, 1) << 8U | byte_at(bytes, 2) << 16U;
  const std::string_view payload = bytes.substr(header, length);
  if (payload.empty()) return Greeting::no_tls;
  const bool is_whole = payload.size() == length;
  const Greeting unless_more_comes = is_whole ? Greeting::no_tls : Greeting::incomplete;
  if (byte_at(payload, 0) == error) {
    if (payload.size() < 3) return unless_more_comes;
    const bool goes_on = byte_at(payload, 1) == 0xFF && byte_at(payload, 2) == 0xFF;
    return goes_on ? Greeting::no_tls : Greeting::refuses;  // a report of progress
  }
  if (byte_at(payload, 0) != protocol) return Greeting::no_tls;
  const std::size_t end = payload.find('\0', 1);
  if (end > longest_version && payload.size() > longest_version) return Greeting::no_tls;
  if (end == std::string_view::npos) return unless_more_comes;
  const std::size_t second_byte = end + 1 + from_version_to_capabilities + 1;
  if (payload.size() <= second_byte) return unless_more_comes;
  const bool offers = (byte_at(payload, second_byte) & tls_in_second_byte) != 0;
  return offers ? Greeting::offers_tls : Greeting::no_tls;
}

}  // namespace simba::mysql
