#include "sim/trace.hpp"

namespace simba::sim {

namespace {

// Where the clock of `rules::World` begins.
constexpr LocalTime beginning{std::chrono::hours{24}};

}  // namespace

std::string show(LocalTime at) {
  return fmt::format("{:.6f}", std::chrono::duration<double>(at - beginning).count());
}

void Trace::add(LocalTime at, char mark, std::string_view who, std::string_view what) {
  fmt::format_to(std::back_inserter(text_), "{:>13} {} {:<8} {}\n", show(at), mark, who, what);
}

std::uint64_t digest(std::string_view text) noexcept {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

}  // namespace simba::sim
