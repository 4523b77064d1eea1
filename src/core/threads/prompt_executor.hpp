#pragma once

#include "simba/core/executor.hpp"

namespace simba::detail {

/// An executor of ours that never waits for a thread: it runs a task at once on the thread that
/// hands it over, or keeps it for a reason of its own. So it may be entered on any thread, and what
/// it keeps is not to be run by others.
class PromptExecutor : public Executor {};

}  // namespace simba::detail
