#pragma once

#include <iosfwd>
#include <string_view>

namespace simba {

/// The condition of an election or a schedule, for health probes.
enum class Health {
  well,      ///< no trouble that it knows of
  troubled,  ///< requests to the store fail; it keeps trying
  out,       ///< it does not contend: another process uses its id
};

/// E.g. "troubled".
std::string_view to_string(Health health) noexcept;
std::ostream& operator<<(std::ostream& out, Health health);

}  // namespace simba
