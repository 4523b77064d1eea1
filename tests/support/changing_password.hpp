#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "simba/core/credentials.hpp"

namespace simba::support {

/// A password that changes, as a vault gives it out.
///
/// Threads: every function may be called from any thread.
class ChangingPassword {
 public:
  explicit ChangingPassword(std::string first) { change_to(std::move(first)); }

  void change_to(std::string password) const {
    const std::lock_guard lock{state_->mutex};
    state_->password = std::move(password);
  }

  /// How often it was asked for.
  int asked() const {
    const std::lock_guard lock{state_->mutex};
    return state_->asked;
  }

  /// For `user`; empty: that of the options.
  CredentialsSource source(const std::string& user = {}) const {
    return [state = state_, user] {
      const std::lock_guard lock{state->mutex};
      ++state->asked;
      return Credentials{.user = user, .password = Secret{state->password}};
    };
  }

 private:
  struct State {
    std::mutex mutex{};
    std::string password{};
    int asked = 0;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace simba::support
