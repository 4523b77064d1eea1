#include "worker.hpp"

#include <chrono>

#include "simba/core/log.hpp"
#include "simba/core/runtime.hpp"
#include "simba/simba.hpp"

using namespace std::chrono_literals;

namespace {

/// False: refused.
bool write(const Channel& storage, simba::FencingToken token, const std::string& record) {
  storage.send({Message::Kind::begin, token, record});
  if (!storage.receive()) return false;
  storage.send({Message::Kind::write, token, record});
  const auto answer = storage.receive();
  return answer && answer->kind == Message::Kind::stored;
}

}  // namespace

void work(const std::string& name, int records, const std::string& url, const Channel& storage) {
  // The storage tells the story, so Simba's own log would be too much.
  const simba::Client client{url,
                             {.runtime = simba::make_runtime({.log = simba::make_null_logger()})}};
  int next = 1;
  while (next <= records) {
    simba::Lock lock = client.lock("example-fenced-resource", {.wait = 60s});
    storage.send({Message::Kind::acquired, lock.fencing_token()});
    // It is right to look at lost(), and not enough: the process may be frozen after the look and
    // before the write. No client can close that gap; the storage does, by the token.
    while (next <= records && !lock.lost().stop_requested() &&
           write(storage, lock.fencing_token(), name + "'s record " + std::to_string(next))) {
      ++next;
    }
    lock.unlock_confirmed();  // the process may end now
  }
}
