#include "mysql/hints/lock_name.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace simba::mysql {
namespace {

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) noexcept {
  constexpr std::uint64_t prime = 0x100000001b3;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= prime;
  }
  return hash;
}

}  // namespace

std::string lock_name(std::string_view database, std::string_view mutex) {
  constexpr std::uint64_t offset_basis = 0xcbf29ce484222325;
  const std::string_view separator{"\0", 1};
  return fmt::format("simba:{:016x}",
                     fnv1a(mutex, fnv1a(separator, fnv1a(database, offset_basis))));
}

std::string session_lock_name(std::uint64_t connection) {
  return fmt::format("simba:session:{}", connection);
}

}  // namespace simba::mysql
