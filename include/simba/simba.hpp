#pragma once

/// Everything a program needs to use Simba: docs/api.md describes it.
#include "simba/client/client.hpp"      // IWYU pragma: export
#include "simba/client/completion.hpp"  // IWYU pragma: export
#include "simba/client/coroutine.hpp"   // IWYU pragma: export
#include "simba/client/election.hpp"    // IWYU pragma: export
#include "simba/client/fence.hpp"       // IWYU pragma: export
#include "simba/client/health.hpp"      // IWYU pragma: export
#include "simba/client/lock.hpp"        // IWYU pragma: export
#include "simba/client/owner.hpp"       // IWYU pragma: export
#include "simba/client/schedule.hpp"    // IWYU pragma: export
#include "simba/client/span.hpp"        // IWYU pragma: export
#include "simba/client/watch.hpp"       // IWYU pragma: export
#include "simba/core/error.hpp"         // IWYU pragma: export
#include "simba/version.hpp"            // IWYU pragma: export
