#include "simba/client/watch.hpp"

#include <utility>

#include "client/client_core.hpp"
#include "simba/core/mutex_retriever.hpp"

namespace simba {

class Watch::Impl final : public MutexRetriever, public std::enable_shared_from_this<Impl> {
 public:
  Impl(std::string mutex, engine::LeaseServiceFactory& factory, Changed changed,
       std::shared_ptr<Executor> executor)
      : mutex_{std::move(mutex)},
        changed_{std::move(changed)},
        service_{factory.create_mutex_retrieval_service(*this, {.executor = std::move(executor)})} {
  }

  const std::string& mutex() const noexcept override { return mutex_; }

  void notify_owner(const MutexState& state) override {
    const auto self = shared_from_this();  // the callback may destroy the watch
    changed_(state.after());
  }

  MutexRetrievalService& service() noexcept { return *service_; }

 private:
  // constant after construction
  const std::string mutex_;
  const Changed changed_;

  // The last, so that it is closed while everything that it calls is there.
  const std::unique_ptr<MutexRetrievalService> service_;
};

Watch::Watch() noexcept = default;
Watch::Watch(std::shared_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
Watch::Watch(Watch&& other) noexcept = default;

Watch::~Watch() { stop(); }

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  stop();
  impl_ = std::move(other.impl_);
  return *this;
}

MutexOwner Watch::owner() const {
  return impl_ ? impl_->service().mutex_state().after() : MutexOwner::none();
}

void Watch::stop() {
  if (impl_) impl_->service().close();
}

Watch Client::watch(std::string name, Watch::Changed changed) const {
  if (!changed) throw InvalidArgumentError{"a watch needs a callback (got an empty function)"};
  const auto impl = std::make_shared<Watch::Impl>(std::move(name), *core_->factory(),
                                                  std::move(changed), core_->executor());
  impl->service().start();
  return Watch{impl};
}

}  // namespace simba
