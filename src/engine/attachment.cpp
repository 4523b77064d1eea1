#include "engine/attachment.hpp"

#include <utility>

#include "engine/lease_contention.hpp"

namespace simba::engine {

Attachment::Attachment(std::shared_ptr<void> to_store) : to_store_{std::move(to_store)} {}

Attachment::~Attachment() {
  if (fork_guard_.in_child()) return;
  record_reads_->close();
  record_writes_->close();
  for (const auto& weak : left_behind_) {
    if (const auto contention = weak.lock()) contention->give_up();
  }
}

void Attachment::leave_behind(const std::shared_ptr<LeaseContention>& contention) {
  const std::lock_guard lock{mutex_};
  std::erase_if(left_behind_, [](const auto& weak) { return weak.expired(); });
  left_behind_.emplace_back(contention);
}

}  // namespace simba::engine
