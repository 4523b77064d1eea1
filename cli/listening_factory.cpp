#include "cli/listening_factory.hpp"

#include <utility>

namespace simba::cli {

class ListeningFactory::Relay final : public MutexContender {
 public:
  Relay(MutexContender& contender, const Listener& listener)
      : contender_{contender}, listener_{listener} {}

  /// Before it is started.
  void set_service(MutexContendService& service) noexcept { service_ = &service; }

  const std::string& mutex() const noexcept override { return contender_.mutex(); }
  const std::string& contender_id() const noexcept override { return contender_.contender_id(); }
  void on_acquired(const MutexState& state) override { contender_.on_acquired(state); }
  void on_released(const MutexState& state) override { contender_.on_released(state); }

  void notify_owner(const MutexState& state) override {
    if (listener_.on_change) listener_.on_change(*service_, state);
    contender_.notify_owner(state);
  }

  void on_event(const ContentionEvent& event) override {
    if (listener_.on_event) listener_.on_event(*service_, event);
    contender_.on_event(event);
  }

 private:
  MutexContender& contender_;
  const Listener& listener_;
  MutexContendService* service_ = nullptr;
};

ListeningFactory::ListeningFactory(MutexContendServiceFactory& factory, Listener listener)
    : factory_{factory}, listener_{std::move(listener)} {}

ListeningFactory::~ListeningFactory() = default;

std::unique_ptr<MutexContendService> ListeningFactory::create_mutex_contend_service(
    MutexContender& contender, const ContendServiceOptions& options) {
  auto relay = std::make_unique<Relay>(contender, listener_);
  auto service = factory_.create_mutex_contend_service(*relay, options);
  relay->set_service(*service);
  const std::lock_guard lock{mutex_};
  relays_.push_back(std::move(relay));
  return service;
}

}  // namespace simba::cli
