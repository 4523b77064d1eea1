#pragma once

namespace simba::zookeeper::rules {

/// What to break, to see that it would be found.
enum class Mutation {
  none,
  sync_stays_at_follower,    ///< it is answered without the leader
  touches_stay_at_follower,  ///< the leader never hears who is alive
  sessions_end_early,        ///< a tick before their time-out
  timeout_overstated,        ///< the client is told of a longer session than it has
  events_dropped,            ///< watches never tell
  removed_nodes_listed,      ///< among the children, for ever
  dead_sessions_keep_nodes,
  late_writes_count,        ///< of a connection that the session has left
  sequence_starts_again,    ///< from zero, every now and then
  old_servers_take_clients  ///< that have seen more than the server has
};

}  // namespace simba::zookeeper::rules
