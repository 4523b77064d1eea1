#pragma once

#include <cstdint>

namespace simba::detail {

/// How many forks lie between the first process and this one. Makes no system call.
std::uint64_t fork_count() noexcept;

}  // namespace simba::detail
