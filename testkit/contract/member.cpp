#include "testkit/contract/member.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace simba::testkit::detail {

namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

/// Hooks that get the member instead of the state.
RecordingHooks recording_hooks(Member& self, const Member::Hooks& hooks) {
  const auto adapt = [&self](const Member::Hook& hook) -> std::function<void(const MutexState&)> {
    if (!hook) {
      return {};
    }
    return [&self, hook](const MutexState&) { hook(self); };
  };
  return {
      .on_acquired = adapt(hooks.acquired), .on_released = adapt(hooks.released), .on_event = {}};
}

}  // namespace

void Gate::open() {
  {
    const std::lock_guard lock{mutex_};
    open_ = true;
  }
  changed_.notify_all();
}

bool Gate::wait_for(std::chrono::nanoseconds span) {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, span, [&] { return open_; });
}

Member::Member(const Contract& contract, const std::string& mutex,
               MutexContendServiceFactory& factory, const Hooks& hooks,
               const ContendServiceOptions& options)
    : RecordingContender{mutex, recording_hooks(*this, hooks)},
      contract_{contract},
      service_{factory.create_mutex_contend_service(*this, options)} {}

Member::~Member() { service_->close(); }

void Member::on_acquired(const MutexState& state) {
  acquired_at_ = contract_.now();
  RecordingContender::on_acquired(state);
}

void Member::on_released(const MutexState& state) {
  struct Finish {
    explicit Finish(Member& member) : self{member} {}
    Finish(const Finish&) = delete;
    Finish& operator=(const Finish&) = delete;
    ~Finish() {
      self.released_at_ = self.contract_.now();
      ++self.finished_releases_;
    }
    Member& self;
  } const finish{*this};
  RecordingContender::on_released(state);
}

bool Member::acquires_within(std::chrono::nanoseconds span, std::size_t times) const {
  return wait_for_acquisitions(times, ceil<milliseconds>(span));
}

bool Member::has_acquired(std::size_t times) const {
  return acquires_within(contract_.patience(), times);
}

bool Member::has_released(std::size_t times) const {
  return contract_.eventually([&] { return finished_releases_ >= times; });
}

bool Member::is_told_of_trouble() const {
  return contract_.eventually([&] {
    const auto all = events();
    return std::any_of(all.begin(), all.end(), [](const ContentionEvent& event) {
      return std::holds_alternative<RenewalFailed>(event) || std::holds_alternative<AtRisk>(event);
    });
  });
}

bool Member::is_told_of_loss() const {
  return contract_.eventually([&] { return losses() > 0; });
}

bool Member::sees(const Member& leader) const {
  return contract_.eventually(
      [&] { return service_->after_owner().is_owner(leader.contender_id()); });
}

std::size_t Member::losses() const {
  const auto all = events();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& event) {
    return std::holds_alternative<OwnershipLost>(event);
  }));
}

Observer::Observer(const Contract& contract, const std::string& mutex,
                   MutexRetrievalServiceFactory& factory, const Hook& hook)
    : contract_{contract},
      retriever_{mutex,
                 [this, hook](const MutexState&) {
                   if (hook) {
                     hook(*this);
                   }
                 }},
      service_{factory.create_mutex_retrieval_service(retriever_)} {}

bool Observer::sees(const std::string& owner_id) const {
  return retriever_.wait_for_owner(owner_id, ceil<milliseconds>(contract_.patience()));
}

Member* owner_among(const Contract& contract, const Members& members) {
  Member* owner = nullptr;
  contract.eventually([&] {
    const auto found = std::find_if(members.begin(), members.end(), [](const auto& member) {
      return member->service().is_owner();
    });
    owner = found != members.end() ? found->get() : nullptr;
    return owner != nullptr;
  });
  return owner;
}

std::string contradiction(std::vector<Visit> visits) {
  std::sort(visits.begin(), visits.end(),
            [](const Visit& a, const Visit& b) { return a.entered < b.entered; });
  for (std::size_t i = 1; i < visits.size(); ++i) {
    const Visit& earlier = visits[i - 1];
    const Visit& later = visits[i];
    const std::string pair =
        "tokens " + std::to_string(earlier.token) + " and " + std::to_string(later.token);
    if (earlier.last_owned >= later.entered) {
      return safety_violation + ("two owners at once, with " + pair);
    }
    if (earlier.token >= later.token) {
      return safety_violation + ("a token that did not grow from one owner to the next: " + pair);
    }
  }
  return {};
}

}  // namespace simba::testkit::detail
