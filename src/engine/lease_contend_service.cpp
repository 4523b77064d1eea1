#include "engine/lease_contend_service.hpp"

#include <utility>

namespace simba::engine {

LeaseContendService::LeaseContendService(
    MutexContender& contender, const ContendServiceOptions& options,
    std::shared_ptr<LeaseStore> store, std::shared_ptr<Attachment> attachment,
    std::shared_ptr<const Runtime> runtime, std::shared_ptr<const ContentionPlan> plan,
    std::chrono::nanoseconds renew_phase, std::shared_ptr<Succession> succession,
    std::uint64_t instance)
    : AbstractMutexContendService{contender, options.executor, runtime, plan->drain_limit},
      attachment_{std::move(attachment)},
      contention_{std::make_shared<LeaseContention>(contender, dispatcher(), std::move(store),
                                                    runtime, plan, options.after_loss, renew_phase,
                                                    std::move(succession), instance)} {}

LeaseContendService::~LeaseContendService() {
  close();
  if (in_forked_child()) {
    detail::leak(contention_);
  } else {
    attachment_->leave_behind(contention_);
  }
}

}  // namespace simba::engine
