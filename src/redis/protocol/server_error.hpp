#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/admin/required_acl.hpp"
#include "simba/core/error.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// An error that a server answered with, in the terms that decide what to do.
struct ServerError {
  enum class Code {
    no_script,          ///< NOSCRIPT: the script must be sent whole
    moved,              ///< MOVED: the slot is served by `endpoint` now
    ask,                ///< ASK: this one request must go to `endpoint`, after ASKING
    try_again,          ///< TRYAGAIN: the slot is being moved
    cluster_down,       ///< CLUSTERDOWN
    cross_slot,         ///< CROSSSLOT
    read_only,          ///< READONLY: a replica, or a master that was demoted
    master_down,        ///< MASTERDOWN: a replica without its master
    loading,            ///< LOADING: reads its data from disk
    busy,               ///< BUSY: a script of someone runs for too long
    out_of_memory,      ///< OOM: maxmemory is reached
    no_replicas,        ///< NOREPLICAS: min-replicas-to-write is not met
    misconfigured,      ///< MISCONF: it cannot save and refuses to write
    not_authenticated,  ///< NOAUTH, or DENIED by the protected mode
    wrong_password,     ///< WRONGPASS, or an ERR about the password (before 6, or none is set)
    no_permission,      ///< NOPERM, or a script that did what its user may not
    wrong_type,         ///< WRONGTYPE: a key of ours holds something else
    unknown_command,    ///< ERR unknown command or subcommand
    other,
  };

  Code code = Code::other;
  std::string text{};      ///< as the server said it, but for arguments of ours that it repeats
  Endpoint endpoint{};     ///< of moved and ask; an empty host stands for the server that answered
  std::uint16_t slot = 0;  ///< of moved and ask
};

/// Never throws: what it does not understand is `other`. An error that a script passes on is known
/// by the error inside ("ERR Error running script ... WRONGTYPE ...", as servers before 7 say it).
ServerError parse_server_error(std::string_view text);

/// The same for users: what is wrong, where, and what to do about it, in one line. The server's
/// text is cut where it is long, and bytes that do not print are replaced. `where` names the
/// server, e.g. "Redis at 127.0.0.1:6379".
Error to_error(const ServerError& error, std::string_view where);

/// True if the connection is of no use after it: another server, or another log-in, is needed.
/// Not for a missing permission: a change of the ACL also applies to open connections.
bool ends_connection(ServerError::Code code) noexcept;

}  // namespace simba::redis
