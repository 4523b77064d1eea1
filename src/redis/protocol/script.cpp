#include "redis/protocol/script.hpp"

#include <array>
#include <cstddef>
#include <openssl/evp.h>
#include <utility>

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

Loaded load(std::string text) {
  Loaded loaded;
  loaded.hash = sha1(text);
  loaded.text = std::move(text);
  return loaded;
}

Loaded load_with_common(std::string_view body) {
  return load(std::string{lua::common_lua}.append("\n").append(body));
}

const Loaded& loaded(Script script) {
  static const std::array<Loaded, 4> all{
      load_with_common(lua::acquire_lua), load_with_common(lua::guard_lua),
      load_with_common(lua::release_lua), load(std::string{lua::record_lua})};
  return all.at(static_cast<std::size_t>(script));
}

}  // namespace

const std::string& text_of(Script script) { return loaded(script).text; }
const std::string& hash_of(Script script) { return loaded(script).hash; }

namespace {

/// Those of an acquisition or a release.
std::vector<std::string> all_keys(std::string_view mutex) {
  const std::string lock = lock_name(mutex);
  return {lock, lock + ":fence", lock + ":contender", lock + ":line", lock + ":waiters"};
}

std::vector<std::string> owner_keys(std::string_view mutex) {
  const std::string lock = lock_name(mutex);
  return {lock, lock + ":fence"};
}

}  // namespace

ScriptCall::ScriptCall(Script script, std::vector<std::string> keys,
                       std::vector<std::string> arguments)
    : script_{script}, keys_{std::move(keys)}, arguments_{std::move(arguments)} {}

ScriptCall ScriptCall::acquire(const engine::LeaseRequest& request, const Place& place,
                               std::chrono::milliseconds retention) {
  return {Script::acquire,
          all_keys(request.mutex),
          {request.contender_id, std::to_string(request.ttl.count()),
           std::to_string(request.transition.count()), place.inbox.empty() ? "-" : place.inbox,
           place.secret.empty() ? "0" : place.secret, std::to_string(request.instance),
           std::to_string(request.takes_over), std::to_string(retention.count())}};
}

ScriptCall ScriptCall::guard(const engine::LeaseRequest& request,
                             std::chrono::milliseconds retention) {
  return {Script::guard,
          owner_keys(request.mutex),
          {request.contender_id, std::to_string(request.ttl.count()),
           std::to_string(request.transition.count()), std::to_string(request.instance),
           std::to_string(retention.count())}};
}

ScriptCall ScriptCall::release(const engine::LeaseRequest& request, FencingToken token,
                               Topology topology, std::chrono::milliseconds retention) {
  return {
      Script::release,
      all_keys(request.mutex),
      {request.contender_id, std::to_string(token), releases_channel(request.mutex),
       topology == Topology::cluster ? "cluster" : "single", std::to_string(retention.count())}};
}

ScriptCall ScriptCall::retrieve(const std::string& mutex) {
  return {Script::guard, owner_keys(mutex), {"", "0", "0", "0", "0"}};
}

ScriptCall ScriptCall::read_record(const std::string& mutex) {
  return {Script::record, {record_key(mutex)}, {}};
}

ScriptCall ScriptCall::write_record(const RecordWrite& write) {
  ScriptCall call = read_record(write.mutex);
  call.arguments_ = {
      write.text, std::to_string(write.replaces),
      write.not_before ? std::to_string(write.not_before->time_since_epoch().count()) : ""};
  if (write.owner) {
    for (std::string& key : owner_keys(write.mutex)) call.keys_.push_back(std::move(key));
    call.arguments_.push_back(write.owner->contender_id);
    call.arguments_.push_back(std::to_string(write.owner->fencing_token));
  }
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
