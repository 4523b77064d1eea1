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
      return {ErrorKind::unavailable, "there is no such node"};
    case Code::node_exists:
      return {ErrorKind::unavailable, "there is such a node already"};
    case Code::no_auth:
      return {ErrorKind::permission,
              "its ACL does not allow it; let the operator give read, write, create and delete on "
              "the base path and below, or set the digest user that has them"};
    case Code::unimplemented:
      return {ErrorKind::unsupported, "the server is too old for it; 3.5 or later is needed"};
    case Code::connection_loss:
      return {ErrorKind::in_doubt, "the connection was lost before the answer came"};
    case Code::session_expired:
      return {ErrorKind::unavailable, "the session has ended; a new one is begun"};
    case Code::closing:
      return {ErrorKind::unavailable, "the session is being closed"};
    case Code::ok:
    case Code::refused:
      break;
  }
  return {ErrorKind::unavailable, "the server refuses it; its log may tell why"};
}

}  // namespace

Error error_of(Code code, std::string_view what, std::string_view path) {
  const Meaning meaning = meaning_of(code);
  return Error{meaning.kind,
               fmt::format("ZooKeeper: could not {} [{}]: {}", what, path, meaning.text)};
}

}  // namespace simba::zookeeper
