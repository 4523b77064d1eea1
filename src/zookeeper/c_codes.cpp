#include "zookeeper/c_codes.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace simba::zookeeper {

Code code_of(int answer) noexcept {
  switch (answer) {
    case ZOK:
      return Code::ok;
    case ZNONODE:
      return Code::no_node;
    case ZNODEEXISTS:
      return Code::node_exists;
    case ZNOAUTH:
      return Code::no_auth;
    case ZUNIMPLEMENTED:
      return Code::unimplemented;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:  // the library tells these of requests that it has sent, too
    case ZSYSTEMERROR:
    case ZMARSHALLINGERROR:
    case ZSESSIONMOVED:  // the server that we come from does not have our session any more
      return Code::connection_loss;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:  // the handle is beyond repair
      return Code::session_expired;
    case ZCLOSING:
      return Code::closing;
    default:
      return Code::refused;
  }
}

NodeStat stat_of(const Stat* stat) noexcept {
  constexpr auto container = std::numeric_limits<std::int64_t>::min();  // in place of a session
  if (stat == nullptr) return {};
  return {.created_zxid = stat->czxid,
          .created_at = StoreTime{std::chrono::milliseconds{stat->ctime}},
          .session = stat->ephemeralOwner == container ? 0 : stat->ephemeralOwner};
}

std::string text_of(const char* text) { return text == nullptr ? std::string{} : text; }

std::string data_of(const char* data, int length) {
  if (data == nullptr || length <= 0) return {};
  return {data, static_cast<std::size_t>(length)};
}

std::vector<std::string> names_of(const String_vector* names) {
  std::vector<std::string> result;
  if (names == nullptr || names->data == nullptr || names->count <= 0) return result;
  for (std::int32_t i = 0; i < names->count; ++i) {
    if (names->data[i] != nullptr) result.emplace_back(names->data[i]);
  }
  return result;
}

}  // namespace simba::zookeeper
