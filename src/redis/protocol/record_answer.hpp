#pragma once

#include "redis/protocol/reply.hpp"
#include "simba/core/mutex_records.hpp"

namespace simba::redis {

/// What lua/record.lua has answered. An Error where that is none: of kind `configuration` where the
/// key holds something that is not a record, else `internal`.
RecordResult parse_record_answer(const Reply& reply);

}  // namespace simba::redis
