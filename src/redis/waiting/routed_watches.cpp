#include "redis/waiting/routed_watches.hpp"

#include <utility>

#include "redis/protocol/keys.hpp"

namespace simba::redis {

class RoutedWatches::Routed {
 public:
  Routed(std::shared_ptr<Router> router, engine::LeaseRequest request,
         engine::NoticeHandler handler)
      : router_{std::move(router)},
        request_{std::move(request)},
        slot_{slot_of(lock_name(request_.mutex))},
        handler_{std::move(handler)} {}

  /// Where the slot moves meanwhile, whoever comes last sees where it is.
  void follow() {
    while (follow_once()) {
    }
  }

  void end() {
    std::unique_ptr<engine::Watch> watch;
    const std::lock_guard lock{mutex_};
    ended_ = true;
    std::swap(watch, watch_);
  }

 private:
  /// False if it listens at the right node already.
  bool follow_once() {
    const auto node = router_->node_for(slot_);
    {
      const std::lock_guard lock{mutex_};
      if (ended_ || node == node_) return false;
      node_ = node;
    }
    // With no lock held: it may call the handler, and that may end this watch.
    auto watch = node->subscriber().watch(request_, handler_);
    const std::lock_guard lock{mutex_};
    if (!ended_ && node == node_) std::swap(watch, watch_);
    return true;  // the old one, or the new one where it came too late, ends after the lock
  }

  // constant after construction
  const std::shared_ptr<Router> router_;
  const engine::LeaseRequest request_;
  const std::uint16_t slot_;
  const engine::NoticeHandler handler_;

  std::mutex mutex_;
  // guarded by mutex_
  bool ended_ = false;
  std::shared_ptr<Node> node_;
  std::unique_ptr<engine::Watch> watch_;
};

class RoutedWatches::RoutedWatch final : public engine::Watch {
 public:
  RoutedWatch(std::shared_ptr<RoutedWatches> watches, std::shared_ptr<Routed> routed)
      : watches_{std::move(watches)}, routed_{std::move(routed)} {}
  RoutedWatch(const RoutedWatch&) = delete;
  RoutedWatch& operator=(const RoutedWatch&) = delete;
  ~RoutedWatch() override { watches_->remove(routed_); }

 private:
  const std::shared_ptr<RoutedWatches> watches_;
  const std::shared_ptr<Routed> routed_;
};

std::unique_ptr<engine::Watch> RoutedWatches::add(std::shared_ptr<Router> router,
                                                  const engine::LeaseRequest& request,
                                                  engine::NoticeHandler handler) {
  auto routed = std::make_shared<Routed>(std::move(router), request, std::move(handler));
  {
    const std::lock_guard lock{mutex_};
    all_.insert(routed);
  }
  auto watch = std::make_unique<RoutedWatch>(shared_from_this(), routed);
  routed->follow();
  return watch;
}

void RoutedWatches::remove(const std::shared_ptr<Routed>& routed) {
  routed->end();
  const std::lock_guard lock{mutex_};
  all_.erase(routed);
}

void RoutedWatches::follow() {
  std::unordered_set<std::shared_ptr<Routed>> all;
  {
    const std::lock_guard lock{mutex_};
    all = all_;
  }
  for (const auto& routed : all) routed->follow();
}

}  // namespace simba::redis
