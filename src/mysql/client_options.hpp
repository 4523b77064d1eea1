#pragma once

#include "mysql/settings.hpp"

struct st_mysql;

namespace simba::mysql {

/// Sets the options of a connection that is to be made. Throws Error `configuration` where a TLS
/// file is unusable.
void configure(st_mysql& mysql, const Settings& settings);

}  // namespace simba::mysql
