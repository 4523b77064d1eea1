#include "redis/protocol/script.hpp"

#include <array>
#include <cstddef>
#include <openssl/evp.h>

#include <fmt/format.h>

#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis_scripts.hpp"

namespace simba::redis {
namespace {

struct Loaded {
  std::string text;
  std::string hash;
};

/// SHA-1 is how Redis names scripts; nothing depends on its strength.
std::string sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr) != 1) {
    return {};  // no such script: the text is sent each time
  }
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) {
    fmt::format_to(std::back_inserter(hex), "{:02x}", digest[i]);
  }
  return hex;
}

Loaded load(std::string_view body) {
  Loaded loaded;
  loaded.text.append(lua::common_lua).append("\n").append(body);
  loaded.hash = sha1(loaded.text);
  return loaded;
}

const Loaded& loaded(Script script) {
  static const std::array<Loaded, 3> all{load(lua::acquire_lua), load(lua::guard_lua),
                                         load(lua::release_lua)};
  return all.at(static_cast<std::size_t>(script));
}

}  // namespace

const std::string& text_of(Script script) { return loaded(script).text; }
const std::string& hash_of(Script script) { return loaded(script).hash; }

ScriptCall::ScriptCall(Script script, std::string_view mutex) : script_{script} {
  keys_.push_back(lock_name(mutex));
  const auto& lock = keys_.front();
  if (script == Script::guard) {
    keys_ = {lock, lock + ":fence"};
  } else {
    keys_ = {lock, lock + ":fence", lock + ":contender", lock + ":line", lock + ":waiters"};
  }
}

ScriptCall ScriptCall::acquire(const engine::LeaseRequest& request, const Place& place,
                               std::chrono::milliseconds retention) {
  ScriptCall call{Script::acquire, request.mutex};
  call.arguments_ = {request.contender_id,
                     std::to_string(request.ttl.count()),
                     std::to_string(request.transition.count()),
                     place.inbox.empty() ? "-" : place.inbox,
                     place.secret.empty() ? "0" : place.secret,
                     std::to_string(request.instance),
                     std::to_string(request.takes_over),
                     std::to_string(retention.count())};
  return call;
}

ScriptCall ScriptCall::guard(const engine::LeaseRequest& request,
                             std::chrono::milliseconds retention) {
  ScriptCall call{Script::guard, request.mutex};
  call.arguments_ = {request.contender_id, std::to_string(request.ttl.count()),
                     std::to_string(request.transition.count()), std::to_string(request.instance),
                     std::to_string(retention.count())};
  return call;
}

ScriptCall ScriptCall::release(const engine::LeaseRequest& request, FencingToken token,
                               Topology topology, std::chrono::milliseconds retention) {
  ScriptCall call{Script::release, request.mutex};
  call.arguments_ = {request.contender_id, std::to_string(token), releases_channel(request.mutex),
                     topology == Topology::cluster ? "cluster" : "single",
                     std::to_string(retention.count())};
  return call;
}

ScriptCall ScriptCall::retrieve(const std::string& mutex) {
  ScriptCall call{Script::guard, mutex};
  call.arguments_ = {"", "0", "0", "0", "0"};
  return call;
}

std::string ScriptCall::encoded(std::string_view command, std::string_view what) const {
  const std::string count = std::to_string(keys_.size());
  std::vector<std::string_view> words{command, what, count};
  words.insert(words.end(), keys_.begin(), keys_.end());
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::string out;
  append_command(out, words);
  return out;
}

}  // namespace simba::redis
