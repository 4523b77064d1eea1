#pragma once

#include <string>

#include "channel.hpp"

/// What a worker process does: it gets the lock and writes records to the storage, until `records`
/// of them are stored. Whenever it loses the lock, or is refused, it acquires the lock again.
///
/// Throws simba::Error where the store refuses it, or gives it no lock for a minute.
void work(const std::string& name, int records, const std::string& url, const Channel& storage);
