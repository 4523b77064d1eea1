#include "redis/mutex_names.hpp"

namespace simba::redis {
namespace {

std::string joined(std::string_view a, std::string_view b, std::string_view c,
                   std::string_view d = {}) {
  std::string text;
  text.reserve(a.size() + b.size() + c.size() + d.size());
  return text.append(a).append(b).append(c).append(d);
}

}  // namespace

std::string lock_name(std::string_view mutex) { return joined("simba:{", mutex, "}"); }

std::string waiter_channel(std::string_view mutex, std::string_view contender_id) {
  return joined("simba:{", mutex, "}:", contender_id);
}

std::string releases_channel(std::string_view mutex) {
  return joined("simba:releases:{", mutex, "}");
}

}  // namespace simba::redis
