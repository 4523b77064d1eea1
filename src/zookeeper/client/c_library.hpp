#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>
#include <zookeeper/zookeeper.h>

#include "simba/core/error.hpp"
#include "simba/core/tls_options.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// What an answer of the C library means.
Code code_of(int answer) noexcept;

// What came with an answer. Nothing of it is trusted: it may be missing, or its length negative.

NodeStat stat_of(const Stat* stat) noexcept;
std::string text_of(const char* text);
std::string data_of(const char* data, int length);
std::vector<std::string> names_of(const String_vector* names);
bool open_to_all(const ACL_vector* entries);

/// Throws Error if the library cannot do what is asked: of kind `unsupported`, or of kind
/// `configuration` where a file is missing that it needs.
void check_tls(const TlsOptions& tls);

/// The hosts of a connect string as the library wants them: each with a port, and IPv6 addresses
/// without brackets, since it takes what follows the last colon for the port.
std::string hosts_for_library(std::string_view hosts);

/// Begins a session; all that happens to it is told to `watcher`, maybe before this returns. Looks
/// up the host names, so it may block. Null: it failed, as `errno` says, see `error_of_opening`.
zhandle_t* open_handle(const Settings& settings, watcher_fn watcher, void* context);

/// What to say of an `open_handle` that failed with `reason`.
Error error_of_opening(const Settings& settings, int reason);

/// Tells the servers who we are, now and at each new connection. False: it has to be tried again
/// once connected, because the library takes nobody's name between two tries to connect.
bool add_credentials(zhandle_t* handle, const Settings& settings);

Error error_of_authentication(const Settings& settings);

/// Sends the request. Returns the library's code.
int create_node(zhandle_t* handle, const std::string& path, const std::string& data, NodeKind kind,
                NodeAcl acl, string_stat_completion_t completion, const void* context);

/// What the library says of each part of a write. It must live until that is answered.
inline constexpr std::size_t results_of_write = 2;
using WriteResults = std::array<zoo_op_result_t, results_of_write>;

/// The same; the completion gets the code of the part that failed.
int write_node(zhandle_t* handle, const NodeWrite& write, NodeAcl acl, WriteResults& results,
               void_completion_t completion, const void* context);

}  // namespace simba::zookeeper
