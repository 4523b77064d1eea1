#pragma once

#include "unit/rules/network.hpp"

namespace simba::rules {

/// A contender of another library, which knows nothing of ours.
class Stranger {
 public:
  virtual ~Stranger() = default;
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  virtual void start() = 0;
  virtual void stop() = 0;
  virtual bool running() const noexcept = 0;
  virtual Host& host() const noexcept = 0;

  /// Whether it leaves nothing behind when it is stopped now.
  virtual bool may_stop() const noexcept { return true; }

 protected:
  Stranger() = default;
};

}  // namespace simba::rules
