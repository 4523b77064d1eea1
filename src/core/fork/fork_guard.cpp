#include "simba/core/fork_guard.hpp"

#include <atomic>
#include <pthread.h>

#include "core/fork/fork_count.hpp"

namespace simba {
namespace {

constinit std::atomic<std::uint64_t> forks{0};

// At load time rather than at first use: a lock around a lazy registration could itself be held by
// another thread at the moment of a fork.
[[maybe_unused]] const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint64_t detail::fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

ForkGuard::ForkGuard() noexcept : forks_{detail::fork_count()} {}

bool ForkGuard::in_child() const noexcept { return forks_ != detail::fork_count(); }

}  // namespace simba
