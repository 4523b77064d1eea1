#pragma once

#include <filesystem>
#include <memory>

#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"

namespace file_store {

/// A store in a folder, for the processes of one machine: one file a mutex, changed under `flock`.
/// Not guaranteed: an answer at once while another process is paused inside a request; turns in the
/// order in which waiters came; tokens that grow past a power cut; anything on a network share.
std::shared_ptr<simba::engine::LeaseStore> make_file_store(
    const std::filesystem::path& folder, std::shared_ptr<const simba::Runtime> runtime);

}  // namespace file_store
