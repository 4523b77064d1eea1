#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simba::mysql {

/// The server-wide named lock that says which connection waits for a release of a mutex. At most 64
/// characters are allowed, so it has a hash (64-bit FNV-1a) of database and mutex. Two mutexes of
/// the same hash would share their hints, which does no harm.
std::string lock_name(std::string_view database, std::string_view mutex);

/// The one that a session holds as long as it lives.
std::string session_lock_name(std::uint64_t connection);

}  // namespace simba::mysql
