#pragma once

namespace simba::redis {

/// Whether names of hosts can be looked up here. The C library does so on threads of its own, which
/// ThreadSanitizer does not know: it crashes on them.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool can_look_up_names = false;
#else
inline constexpr bool can_look_up_names = true;
#endif

inline constexpr auto why_not = "ThreadSanitizer crashes on the threads of getaddrinfo_a";

}  // namespace simba::redis
