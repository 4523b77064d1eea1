#include "testkit/fault_notices.hpp"

#include <utility>

namespace simba::testkit {

using engine::LeaseRequest;
using engine::LeaseStore;
using engine::Notice;
using engine::NoticeHandler;
using engine::Watch;

struct FaultNotices::Subscription {
  Subscription(LeaseRequest asked, NoticeHandler on_notice)
      : request{std::move(asked)}, handler{std::move(on_notice)} {}

  // constant after construction
  const LeaseRequest request;
  const NoticeHandler handler;
  // guarded by FaultNotices::mutex_
  std::unique_ptr<Watch> watch;
  bool made = false;  // the store behind knows of it
  bool ended = false;
};

class FaultNotices::FaultWatch final : public Watch {
 public:
  FaultWatch(std::shared_ptr<FaultNotices> notices, std::shared_ptr<Subscription> subscription)
      : notices_{std::move(notices)}, subscription_{std::move(subscription)} {}

  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;

  ~FaultWatch() override { notices_->end(subscription_); }

 private:
  const std::shared_ptr<FaultNotices> notices_;
  const std::shared_ptr<Subscription> subscription_;
};

std::shared_ptr<FaultNotices::Subscription> FaultNotices::add(const LeaseRequest& request,
                                                              NoticeHandler handler) {
  auto subscription = std::make_shared<Subscription>(request, std::move(handler));
  const std::lock_guard lock{mutex_};
  subscriptions_.push_back(subscription);
  return subscription;
}

std::unique_ptr<Watch> FaultNotices::watch_of(std::shared_ptr<Subscription> subscription) {
  return std::make_unique<FaultWatch>(shared_from_this(), std::move(subscription));
}

void FaultNotices::make(const std::shared_ptr<Subscription>& subscription, LeaseStore& store) {
  {
    const std::lock_guard lock{mutex_};
    if (subscription->made || subscription->ended || closed_) {
      return;
    }
    subscription->made = true;
  }
  auto watch = store.watch(
      subscription->request,
      [weak_this = weak_from_this(), weak_to = std::weak_ptr{subscription}](const Notice& notice) {
        const auto self = weak_this.lock();
        const auto to = weak_to.lock();
        if (self && to) {
          self->noticed(to, notice);
        }
      });
  const std::lock_guard lock{mutex_};  // let go of before `watch` ends
  if (!subscription->ended) {
    subscription->watch = std::move(watch);
  }
}

void FaultNotices::make_missing(LeaseStore& store) {
  std::vector<std::shared_ptr<Subscription>> all;
  {
    const std::lock_guard lock{mutex_};
    all = subscriptions_;
  }
  for (const auto& subscription : all) {
    make(subscription, store);
  }
}

void FaultNotices::set(Mode mode) {
  const std::lock_guard lock{mutex_};
  mode_ = mode;
}

void FaultNotices::pass() {
  std::vector<Held> held;
  {
    const std::lock_guard lock{mutex_};
    mode_ = Mode::pass;
    held.swap(held_);
  }
  deliver(held);
}

void FaultNotices::close() {
  std::vector<Held> held;  // ends after the lock
  const std::lock_guard lock{mutex_};
  closed_ = true;
  held.swap(held_);
}

void FaultNotices::notify(const std::string& mutex, const Notice& notice) const {
  std::vector<Held> notices;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& subscription : subscriptions_) {
      if (subscription->request.mutex == mutex) {
        notices.push_back({subscription, notice});
      }
    }
  }
  deliver(notices);
}

std::size_t FaultNotices::count() const {
  const std::lock_guard lock{mutex_};
  return count_;
}

void FaultNotices::noticed(const std::shared_ptr<Subscription>& to, const Notice& notice) {
  {
    const std::lock_guard lock{mutex_};
    ++count_;
    if (closed_ || to->ended || mode_ == Mode::drop) {
      return;
    }
    if (mode_ == Mode::hold) {
      held_.push_back({to, notice});
      return;
    }
  }
  to->handler(notice);
}

void FaultNotices::deliver(const std::vector<Held>& notices) const {
  for (const auto& [to, notice] : notices) {
    {
      const std::lock_guard lock{mutex_};
      if (closed_ || to->ended) {
        continue;
      }
    }
    to->handler(notice);
  }
}

void FaultNotices::end(const std::shared_ptr<Subscription>& subscription) {
  std::unique_ptr<Watch> watch;  // ends after the lock
  const std::lock_guard lock{mutex_};
  subscription->ended = true;
  watch = std::move(subscription->watch);
  std::erase(subscriptions_, subscription);
}

}  // namespace simba::testkit
