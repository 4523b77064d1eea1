#include "mysql/hints/hint_feed.hpp"

#include <algorithm>
#include <exception>
#include <poll.h>
#include <span>

namespace simba::mysql {

using sql::Hint;
using sql::Wakeup;

HintFeed::HintFeed(std::shared_ptr<Server> server) : server_{std::move(server)} {
  for (std::size_t i = 0; i < server_->settings.options.hint_connections; ++i) {
    slots_.push_back(std::make_unique<HintSlot>(server_));
  }
}

Hint HintFeed::wait(const std::vector<std::string>& waited_for, LocalTime until,
                    const Wakeup& wakeup) noexcept {
  try {
    aim(waited_for);
    return wait_in_server(until, wakeup);
  } catch (const std::exception&) {  // no memory: the look at `until` comes all the same
    sql::wait_for(wakeup, until);
    return {};
  }
}

/// A slot that waits for one of the first mutexes keeps it, so that each has one slot.
void HintFeed::aim(const std::vector<std::string>& waited_for) {
  const bool wanted_at_all = server_->hints();
  const std::size_t count = wanted_at_all ? std::min(slots_.size(), waited_for.size()) : 0;
  std::vector<const std::string*> open;
  for (std::size_t i = 0; i < count; ++i) open.push_back(&waited_for[i]);

  std::vector<HintSlot*> free;
  for (const auto& slot : slots_) {
    const std::string& held = slot->waits_for().empty() ? slot->aimed_at() : slot->waits_for();
    const auto found = std::find_if(open.begin(), open.end(),
                                    [&](const std::string* mutex) { return *mutex == held; });
    if (held.empty() || found == open.end()) {
      free.push_back(slot.get());
    } else {
      slot->aim(**found);
      open.erase(found);
    }
  }
  // Those that can begin at once come first.
  std::stable_partition(free.begin(), free.end(),
                        [](const HintSlot* slot) { return slot->waits_for().empty(); });
  for (std::size_t i = 0; i < free.size(); ++i) {
    free[i]->aim(i < open.size() ? *open[i] : std::string{});
  }
}

Hint HintFeed::wait_in_server(LocalTime until, const Wakeup& wakeup) {
  std::vector<pollfd> descriptors(slots_.size() + 1);
  for (;;) {
    Hint hint;
    const LocalTime now = sql::real_now();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (auto mutex = slots_[i]->go_on(descriptors[i].revents, now)) {
        hint.mutexes.push_back(std::move(*mutex));
      }
    }
    if (!hint.mutexes.empty() || now >= until || descriptors.back().revents != 0) return hint;

    LocalTime next = until;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      descriptors[i] = {slots_[i]->descriptor(), slots_[i]->events(), 0};
      next = std::min(next, slots_[i]->due());
    }
    descriptors.back() = {wakeup.descriptor(), POLLIN, 0};
    if (::poll(descriptors.data(), descriptors.size(), sql::poll_timeout(next)) < 0) {
      for (pollfd& descriptor : descriptors) descriptor.revents = 0;
    }
  }
}

}  // namespace simba::mysql
