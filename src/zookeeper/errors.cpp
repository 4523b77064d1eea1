#include "zookeeper/errors.hpp"

#include <fmt/format.h>

namespace simba::zookeeper {
namespace {

struct Meaning {
  ErrorKind kind;
  std::string_view text;
};

Meaning meaning_of(Code code) {
  switch (code) {
    case Code::no_node:
      return {ErrorKind::unavailable, "the node does not exist"};
    case Code::node_exists:
      return {ErrorKind::unavailable, "the node already exists"};
    case Code::bad_version:
      return {ErrorKind::unavailable, "the node was changed meanwhile"};
    case Code::no_auth:
      return {ErrorKind::permission,
              "permission denied by its ACL; grant read, write, create and delete on the base path "
              "and below, or set a digest user that has them"};
    case Code::unimplemented:
      return {ErrorKind::unsupported, "the server is too old; 3.5 or later is required"};
    case Code::connection_loss:
      return {ErrorKind::in_doubt, "lost the connection before the answer arrived"};
    case Code::session_expired:
      return {ErrorKind::unavailable, "the session ended; starting a new one"};
    case Code::closing:
      return {ErrorKind::unavailable, "the session is being closed"};
    case Code::ok:
    case Code::refused:
      break;
  }
  return {ErrorKind::unavailable, "the server rejected it; check its log"};
}

}  // namespace

Error error_of(Code code, std::string_view what, std::string_view path) {
  const Meaning meaning = meaning_of(code);
  return Error{meaning.kind,
               fmt::format("ZooKeeper: could not {} [{}]: {}", what, path, meaning.text)};
}

}  // namespace simba::zookeeper
