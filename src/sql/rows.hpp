#pragma once

#include "simba/engine/lease_store.hpp"
#include "sql/database.hpp"

namespace simba::sql {

/// What a row says of its mutex: an owner whose lease is over is none. Values that make no sense,
/// which only a foreign hand can have written, are brought into bounds.
engine::LeaseRecord record_of(const Row& row);

/// What `Row::refused` is of a row that the ask has not changed, as it is after that.
bool refuses(const Row& unchanged, Change change, const Ask& ask) noexcept;

/// How a write ends where `found` is the record, `owned` says whether the mutex is owned as the ask
/// demands, and the database has not changed since.
RecordAnswer::Outcome outcome_of(const RecordAsk& ask, bool owned,
                                 const MutexRecord& found) noexcept;

/// Whether the row has an owner that the ask admits. Where nobody must own it, it does not matter.
bool owns(const RecordAsk& ask, const Row& row) noexcept;

}  // namespace simba::sql
