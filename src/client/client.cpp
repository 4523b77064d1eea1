#include "simba/client/client.hpp"

#include <algorithm>
#include <utility>

#include "client/client_core.hpp"

namespace simba {

using detail::ClientCore;
using detail::LockCall;

Client::Client(std::shared_ptr<MutexServiceFactory> factory, ClientOptions options)
    : Client{MakeFactory{[factory](const std::shared_ptr<const Runtime>&) { return factory; }},
             std::move(options)} {
  if (std::dynamic_pointer_cast<engine::LeaseServiceFactory>(factory)) return;
  throw Error{ErrorKind::unsupported,
              factory ? "a client needs an engine::LeaseServiceFactory; use the services of this "
                        "factory directly"
                      : "a client needs a factory (got nullptr)"};
}

Client::Client(MakeFactory make, ClientOptions options)
    : core_{std::make_shared<ClientCore>(std::move(make), std::move(options))} {}

Client::~Client() = default;

Lock Client::lock(std::string name, LockOptions options, const std::stop_token& stop) const {
  return *core_->wait_for(LockCall::lock, std::move(name), options, stop);
}

LockResult Client::try_lock(std::string name, LockOptions options,
                            const std::stop_token& stop) const {
  return core_->wait_for(LockCall::try_lock, std::move(name), options, stop);
}

std::vector<Lock> Client::lock_all(std::vector<std::string> names, const LockOptions& options,
                                   const std::stop_token& stop) const {
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    throw InvalidArgumentError{"mutex [" + *twice + "] is named twice"};
  }
  const auto& clock = *core_->operations()->runtime().clock;
  const LocalTime begun = clock.now();
  std::vector<Lock> locks;
  locks.reserve(names.size());
  for (std::string& name : names) {
    LockOptions next = options;
    if (options.wait && !options.wait->is_forever() && !locks.empty()) {
      const std::chrono::nanoseconds spent = clock.now() - begun;
      next.wait = std::max(options.wait->nanoseconds() - spent, std::chrono::nanoseconds::zero());
    }
    locks.push_back(*core_->wait_for(LockCall::lock, std::move(name), next, stop, options.wait));
  }
  for (const Lock& held : locks) {
    if (held.held()) continue;
    throw Error{ErrorKind::unavailable,
                "mutex [" + held.name() + "] was lost while waiting for the others"};
  }
  return locks;
}

MutexOwner Client::owner(const std::string& name) const {
  engine::LeaseParts parts = core_->operations()->parts();
  const auto runtime = parts.runtime;
  const auto later = std::make_shared<detail::Later<engine::OwnerAnswer>>();
  engine::retrieve_owner(std::move(parts), name,
                         [later](engine::OwnerAnswer answer) { later->set(std::move(answer)); });
  const auto answer = later->wait_until(*runtime->waiter, never);  // within the request timeout
  if (answer && answer->error) throw Error{*answer->error};
  return answer ? answer->owner : MutexOwner::none();
}

Statistics Client::statistics() const { return statistics_of(core_->operations()->runtime()); }

void Client::close() const noexcept { core_->close(); }

}  // namespace simba
