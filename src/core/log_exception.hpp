#pragma once

#include <string_view>

#include "simba/core/log.hpp"

namespace simba::detail {

/// Writes "`where`: what()" of the exception being handled. To be called inside a catch block.
void log_current_exception(Logger& log, std::string_view where) noexcept;

}  // namespace simba::detail
