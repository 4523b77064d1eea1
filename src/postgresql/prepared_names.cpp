#include "postgresql/prepared_names.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace simba::postgresql {

std::string prepared_name(std::string_view statement) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : statement) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return fmt::format("simba_{:016x}", hash);
}

bool PreparedNames::shows_misfit(std::string_view sql_state) noexcept {
  return sql_state == "26000" ||  // no prepared statement of this name
         sql_state == "42P05" ||  // there is one already
         sql_state == "0A000";    // its result would have other types than before
}

}  // namespace simba::postgresql
