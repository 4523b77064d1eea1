#pragma once

#include <string_view>

namespace simba::redis {

/// The rules of an ACL user that is enough for everything that Simba does: its keys, its channels,
/// what its scripts call, how it logs in, and how it finds its way.
inline constexpr std::string_view required_acl =
    "~simba:* &simba:* "
    "+evalsha +eval "
    "+time +get +set +del +exists +pexpire +pttl +hget +hmget +hset +hdel "
    "+zadd +zrem +zrange +zscore +publish +pubsub|numsub "
    "+subscribe +unsubscribe +ping +select +client|setname "
    "+role +wait +cluster|slots +asking";

}  // namespace simba::redis
