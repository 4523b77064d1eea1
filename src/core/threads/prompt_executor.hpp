#pragma once

#include "simba/core/executor.hpp"

namespace simba::detail {

/// An internal executor that never waits for a thread: it runs a task immediately on the thread
/// that submits it, or keeps it. So it may be called on any thread, and nobody else may run what it
/// keeps.
class PromptExecutor : public Executor {};

}  // namespace simba::detail
